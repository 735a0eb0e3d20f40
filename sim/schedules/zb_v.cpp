// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/schedules/list_search.hpp"

namespace paceline::sim {
namespace {

void check_limit(const PipelineShape& shape) {
  check_chunks(shape, "zb-v", 2);
  const double limit = shape.options.memory_limit;
  if (limit == 0 || limit >= shape.ranks) return;
  throw base::Error("schedule zb-v",
                    "memory_limit " + std::to_string(limit) + " is less than the " +
                        std::to_string(shape.ranks) + " microbatches its warm-up holds",
                    "at least " + std::to_string(shape.ranks) + "; v-half and v-min hold less");
}

/// Collects F and B of one rank; what is past the last microbatch is left out.
class Turns {
 public:
  Turns(const PipelineShape& shape, int rank, std::vector<Action>& order)
      : shape_(shape), rank_(rank), order_(order) {}
  void add(std::uint8_t pass, int chunk) {
    int& done = done_[pass][chunk];
    if (done >= shape_.microbatches) return;
    order_.push_back(stage_action(pass, zigzag_stage(shape_.ranks, rank_, chunk), done++));
  }
  bool left(std::uint8_t pass, int chunk) const { return done_[pass][chunk] < shape_.microbatches; }

 private:
  const PipelineShape& shape_;
  const int rank_;
  std::vector<Action>& order_;
  int done_[2][2] = {};  ///< by pass and chunk
};

/// Forwards and inputs of a rank: fill the V, then keep it full, then empty it.
void fill_rank(Turns turns, int ranks, int rank) {
  for (int k = 0; k < 2 * (ranks - rank) - 1; ++k) turns.add(kForward, 0);
  for (int k = 0; k < rank; ++k) turns.add(kForward, 1), turns.add(kForward, 0);
  for (int k = 0; k < ranks - rank; ++k) turns.add(kForward, 1), turns.add(kInput, 1);
  while (turns.left(kForward, 1)) {
    turns.add(kForward, 0);
    turns.add(kInput, 0);
    turns.add(kForward, 1);
    turns.add(kInput, 1);
  }
  for (int k = 0; k < rank; ++k) turns.add(kInput, 0), turns.add(kInput, 1);
  while (turns.left(kInput, 0)) turns.add(kInput, 0);
}

}  // namespace

// Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024), section 6, and "Pipeline Parallelism
// with Controllable Memory" (2024): two chunks per rank in a V, so that the last stage is on the
// first rank and every rank holds as much as the others. The order of F and B is fixed; W goes
// where the rank would wait, as its times say. Our reading: the length of each phase from the
// requirement that the V is full and no rank holds more than `ranks` microbatches, and that a B may
// change places with the action before it where that one would wait.
Program zb_v(const PipelineShape& shape) {
  check_limit(shape);
  std::vector<std::vector<Action>> order(static_cast<std::size_t>(shape.ranks));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    fill_rank(Turns(shape, rank, order[static_cast<std::size_t>(rank)]), shape.ranks, rank);
  }
  const double limit = shape.options.memory_limit;
  const ListProblem problem = list_problem(shape, limit > 0 ? limit : shape.ranks);
  Found best;
  for (const Fill fill : {Fill::Fitting, Fill::Always, Fill::Balanced}) {
    for (const int earlier : {0, 1}) {
      FollowRules rules{fill};
      rules.backward = earlier;
      Found found = follow_order(problem, order, rules, best.longest);
      if (better(found, best)) best = std::move(found);
    }
  }
  Program program = split_program(shape);
  program.order = std::move(best.order);
  return program;
}

}  // namespace paceline::sim

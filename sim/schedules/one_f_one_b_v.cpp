// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "sim/schedules/list_search.hpp"
#include "sim/schedules/v_block.hpp"

namespace paceline::sim {
namespace {

/// The first slot from `from` on that is `phase` modulo the period.
int next_slot(int from, int phase) {
  return from + (phase - from % kBlockPeriod + kBlockPeriod) % kBlockPeriod;
}

/// The two free pairs of neighbouring slots beside the forwards, which are an odd distance apart.
std::array<int, 2> free_pairs(const BlockRow& row) {
  bool used[kBlockPeriod] = {};
  for (const int slot : row.forward) used[slot % kBlockPeriod] = true;
  std::array<int, 2> pairs{};
  int start = 0;
  while (!used[start]) ++start;
  int count = 0;
  for (int k = 1; k < kBlockPeriod && count < 2; ++k) {
    const int slot = (start + k) % kBlockPeriod;
    if (used[slot] || used[(slot + 1) % kBlockPeriod]) continue;
    pairs[static_cast<std::size_t>(count++)] = slot;
    ++k;  // the second slot of the pair
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

/// Places BW of both chunks: down the ranks in one of the free pairs of each, up again in the
/// other, with the fewest slots in all (a shortest path over the two choices per rank).
void place_backwards(std::vector<BlockRow>& rows) {
  const std::size_t n = rows.size();
  std::vector<std::array<int, 2>> pairs;
  for (const BlockRow& row : rows) pairs.push_back(free_pairs(row));
  const auto steps = [](int from, int to) { return next_slot(from + 2, to) - from; };
  const auto cost = [&](std::size_t i, std::size_t a, std::size_t b) {  // rank i to i + 1 and back
    return steps(pairs[i][a], pairs[i + 1][b]) + steps(pairs[i + 1][1 - b], pairs[i][1 - a]);
  };
  std::vector<std::array<int, 2>> rest(n);
  for (std::size_t a : {0U, 1U}) rest[n - 1][a] = steps(pairs[n - 1][a], pairs[n - 1][1 - a]);
  for (std::size_t i = n - 1; i-- > 0;) {
    for (std::size_t a : {0U, 1U}) {
      rest[i][a] = std::min(cost(i, a, 0) + rest[i + 1][0], cost(i, a, 1) + rest[i + 1][1]);
    }
  }
  const auto begin = [&](std::size_t a) { return next_slot(rows[0].forward[1] + 1, pairs[0][a]); };
  std::size_t chosen = begin(1) + rest[0][1] < begin(0) + rest[0][0] ? 1 : 0;
  std::vector<std::size_t> choice{chosen};
  rows[0].backward[1] = begin(chosen);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    chosen = cost(i, chosen, 1) + rest[i + 1][1] < cost(i, chosen, 0) + rest[i + 1][0] ? 1 : 0;
    choice.push_back(chosen);
    rows[i + 1].backward[1] = next_slot(rows[i].backward[1] + 2, pairs[i + 1][chosen]);
  }
  int slot = rows[n - 1].backward[1];
  for (std::size_t i = n; i-- > 0;) {
    slot = next_slot(slot + 2, pairs[i][1 - choice[i]]);
    rows[i].backward[0] = slot;
  }
}

/// Forwards run straight through the V, but for `delay` slots before rank `at`.
std::vector<BlockRow> block_of(int ranks, int delay, int at) {
  std::vector<BlockRow> rows(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    BlockRow& row = rows[static_cast<std::size_t>(rank)];
    row.forward[0] = rank + (rank >= at ? delay : 0);
    row.forward[1] = 2 * ranks - 1 + delay - rank;
  }
  place_backwards(rows);
  return rows;
}

/// `ahead`: how many places a forward of the first chunk may move up.
Found squeezed(const PipelineShape& shape, const std::vector<BlockRow>& rows, int ahead) {
  ListProblem problem = list_problem(shape, (2 * shape.ranks + 2) / 3);
  problem.splits_backward = false;
  std::vector<std::vector<Action>> order;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    order.push_back(repeat_block(shape, rank, rows[static_cast<std::size_t>(rank)]));
  }
  constexpr int kDrain = 64;
  return follow_order(problem, std::move(order), {Fill::Fitting, ahead, 2, 0, kDrain});
}

int most_held(const Found& found) {
  int most = 0;
  for (const auto& order : found.order) {
    int held = 0;
    for (const Action& action : order) {
      held += action.pass == kForward ? 1 : -1;
      most = std::max(most, held);
    }
  }
  return most;
}

}  // namespace

// Qi et al., "Pipeline Parallelism with Controllable Memory" (2024): the V without splitting the
// backward, about two thirds of the activations of 1F1B. The paper gives no slots; our reading: of
// the blocks that let the forwards through with at most one break, the one that needs least memory
// (not less than two thirds) and then the least time, tried on a short step of equal passes.
Program one_f_one_b_v(const PipelineShape& shape) {
  check_chunks(shape, "1f1b-v", 2);
  PipelineShape trial = shape;
  trial.times = {};
  trial.microbatches = std::min(shape.microbatches, 2 * shape.ranks);
  const int allowed = 2 * ((2 * shape.ranks + 2) / 3);
  std::vector<BlockRow> best;
  int best_ahead = 0;
  std::pair<int, double> best_cost;
  // Large pipelines try a sample, very large ones only the block without a break.
  const int step = shape.ranks <= 16 ? 1 : (shape.ranks + 7) / 8;
  for (const int delay : {0, 2, 4}) {
    if (delay > 0 && shape.ranks > 64) break;
    for (int at = delay == 0 ? shape.ranks : 1; at <= shape.ranks; at += step) {
      const std::vector<BlockRow> rows = block_of(shape.ranks, delay, at);
      for (const int ahead : {allowed / 2 - 1, shape.ranks - 1}) {
        const Found found = squeezed(trial, rows, ahead);
        const std::pair<int, double> cost{std::max(allowed, most_held(found)), found.makespan};
        if (!best.empty() && cost >= best_cost) continue;
        best = rows;
        best_ahead = ahead;
        best_cost = cost;
      }
    }
  }
  trial.microbatches = shape.microbatches;
  Program program = two_pass_program(shape);
  program.order = squeezed(trial, best, best_ahead).order;
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/schedules/common.hpp"

// Vocabulary parallelism (Yeung et al., arXiv 2411.05288): the output layer is cut along the
// vocabulary over all ranks, so next to F and BW every rank has two passes per microbatch: S
// (logits of its shard and their statistics) and T (gradients). S needs the output of the last
// stage, a barrier lies between what all ranks did in a pass and the next pass. Orders follow from
// the paper's building blocks; where a slot leaves a choice, it is ours and said below. The input
// layer, which the paper also shards, belongs to F and BW of the first stage here.
namespace paceline::sim {
namespace {

constexpr std::uint8_t kStatistics = 2;  ///< S
constexpr std::uint8_t kGradients = 3;   ///< T

Program vocabulary_program(const PipelineShape& shape, const char* name,
                           std::uint8_t before_backward) {
  check_one_chunk(shape, name);
  Program program = two_pass_program(shape);
  program.passes[kBackward].reads.emplace_back(before_backward, Reach::All);
  program.passes.push_back({"S", Direction::None, {Read(kForward, Reach::Last)}, {}});
  program.passes.push_back({"T", Direction::None, {Read(kStatistics, Reach::All)}, {}});
  for (auto& order : program.order) {
    order.reserve(4 * static_cast<std::size_t>(shape.microbatches));
  }
  return program;
}

/// One slot of the steady state after another, out of which warm-up and cool-down fall by
/// themselves: slot t of a rank runs microbatch t + offset of each pass, where there is one.
struct Slot {
  std::uint8_t pass;
  int offset;
};

void fill_slots(const PipelineShape& shape, int rank, const std::vector<Slot>& slot,
                Program& program) {
  auto [low, high] = std::minmax_element(
      slot.begin(), slot.end(), [](const Slot& a, const Slot& b) { return a.offset < b.offset; });
  auto& order = program.order[static_cast<std::size_t>(rank)];
  for (int t = -high->offset; t < shape.microbatches - low->offset; ++t) {
    for (const Slot& s : slot) {
      const int microbatch = t + s.offset;
      if (microbatch < 0 || microbatch >= shape.microbatches) continue;
      order.push_back(stage_action(s.pass, rank, microbatch));
    }
  }
}

/// 1F1B whose backward comes `barriers` slots later, in which S and then T pass through all ranks.
/// A rank `behind` ranks before the last runs F of a microbatch that many forwards earlier; S of
/// microbatch j goes to the first slot whose F ends after F of j ended on the last rank.
Program vocabulary_1f1b(const PipelineShape& shape, const char* name, int barriers) {
  Program program = vocabulary_program(shape, name, barriers == 2 ? kGradients : kStatistics);
  double forward = 0, backward = 0;
  for (int stage = 0; stage < shape.stages(); ++stage) {
    forward += pass_seconds(shape, "F", stage);
    backward += pass_seconds(shape, "BW", stage);
  }
  const double share = forward + backward > 0 ? forward / (forward + backward) : 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int behind = shape.ranks - 1 - rank;
    const int lag = static_cast<int>(std::ceil(behind * share - 1e-9));
    fill_slots(shape, rank,
               {{kForward, 0},
                {kStatistics, -lag},
                {kGradients, -lag - 1},
                {kBackward, -behind - barriers}},
               program);
  }
  return program;
}

}  // namespace

// Algorithm 1 of the paper: a barrier after S and one after T, which the backward waits for. Ranks
// hold two microbatches more than with 1F1B, p + 2 on the first.
Program vocab_1(const PipelineShape& shape) { return vocabulary_1f1b(shape, "vocab-1", 2); }

// Algorithm 2: S also prepares the gradient of the last stage's output, so the backward waits for
// one barrier only and T may come at any time. p + 1 microbatches on the first rank.
Program vocab_2(const PipelineShape& shape) { return vocabulary_1f1b(shape, "vocab-2", 1); }

// The interlaced pipeline (Lin et al., nnScaler, OSDI'24, as the paper describes it): all ranks run
// S and T of a microbatch together, tensor-parallel, and wait for each other. Between two such
// passes every rank has room for one F and one BW. Ranks an even distance from the last run BW
// first, the others F first: a forward then moves on by two ranks per slot and a backward by one,
// which is where 1.5 p microbatches come from. That alternation is our reading.
Program interlaced(const PipelineShape& shape) {
  Program program = vocabulary_program(shape, "interlaced", kGradients);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int behind = shape.ranks - 1 - rank;
    std::vector<Slot> slot{{kStatistics, 0}, {kGradients, 0}};
    const Slot forward{kForward, 1 + behind / 2}, backward{kBackward, -behind};
    if (behind % 2 == 0) {
      slot.insert(slot.end(), {backward, forward});
    } else {
      slot.insert(slot.end(), {forward, backward});
    }
    fill_slots(shape, rank, slot, program);
  }
  return program;
}

}  // namespace paceline::sim

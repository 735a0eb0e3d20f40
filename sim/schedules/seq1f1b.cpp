// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/schedules/common.hpp"
#include "sim/schedules/slices.hpp"

namespace paceline::sim {

// Seq1F1B (arXiv 2406.03488): 1F1B whose units are slices of a sequence. Attention is causal, so a
// slice runs after the one before it going forward and before it going back. Rank r of p warms up
// with p - r - 2 + k slices, one more than 1F1B has microbatches for each slice of the first
// microbatch that its backward has to wait for, and holds at most p - r - 1 + k of them.
Program seq1f1b(const PipelineShape& shape) {
  check_one_chunk(shape, "seq1f1b");
  Program program = sliced_program(shape, "seq1f1b");
  const int k = program.slices, units = shape.microbatches * k;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const int warm_up = std::min(shape.ranks - rank - 2 + k, units);
    int forward = 0;
    const auto add_forward = [&] {
      order.push_back(stage_action(kForward, rank, forward / k, forward % k));
      ++forward;
    };
    while (forward < warm_up) add_forward();
    for (int backward = 0; backward < units; ++backward) {
      if (forward < units) add_forward();
      order.push_back(stage_action(kBackward, rank, backward / k, k - 1 - backward % k));
    }
  }
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"
#include "sim/schedules/slices.hpp"

namespace paceline::sim {

// TeraPipe (arXiv 2102.07988): GPipe over the slices of all sequences. Slice lengths that balance
// the growing cost of attention come from best_slice_lengths(); the order is the same for any.
// Backwards go the reverse way, so what was stored last is freed first.
Program terapipe(const PipelineShape& shape) {
  check_one_chunk(shape, "terapipe");
  Program program = sliced_program(shape, "terapipe");
  const int k = program.slices, units = shape.microbatches * k;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    for (int unit = 0; unit < units; ++unit) {
      order.push_back(stage_action(kForward, rank, unit / k, unit % k));
    }
    for (int unit = units - 1; unit >= 0; --unit) {
      order.push_back(stage_action(kBackward, rank, unit / k, unit % k));
    }
  }
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"

namespace paceline::sim {

// Huang et al., "GPipe" (2019): every rank runs all its forwards, then all its backwards. Backwards
// in microbatch order as well: the last rank's first backward finds its gradient at once either
// way.
Program gpipe(const PipelineShape& shape) {
  check_one_chunk(shape, "gpipe");
  Program program = two_pass_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    for (const std::uint8_t pass : {kForward, kBackward}) {
      for (int m = 0; m < shape.microbatches; ++m) {
        order.push_back(action_of(shape, pass, rank, 0, m));
      }
    }
  }
  return program;
}

}  // namespace paceline::sim

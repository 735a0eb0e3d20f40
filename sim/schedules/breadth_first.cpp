// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"

namespace paceline::sim {

// Lamy-Poirier, "Breadth-first pipeline parallelism" (2022): a chunk sees all microbatches before
// the next one starts, so the gradients of a chunk are complete while others still run, and sharded
// weights are gathered once for a chunk pass (section 4).
Program breadth_first(const PipelineShape& shape) {
  check_shape(shape, "breadth-first");
  Program program = two_pass_program(shape);
  program.gather_unit = shape.microbatches;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    for (const std::uint8_t pass : {kForward, kBackward}) {
      for (int i = 0; i < shape.chunks; ++i) {
        const int chunk = pass == kForward ? i : shape.chunks - 1 - i;
        for (int m = 0; m < shape.microbatches; ++m) {
          order.push_back(action_of(shape, pass, rank, chunk, m));
        }
      }
    }
  }
  return program;
}

}  // namespace paceline::sim

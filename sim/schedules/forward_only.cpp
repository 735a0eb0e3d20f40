// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/schedules/common.hpp"

namespace paceline::sim {

// Inference: microbatches follow each other and nothing is stored. With several chunks, groups of
// as many microbatches as ranks go through all chunks in turn (as in interleaved 1F1B), so that a
// rank never waits for its own output.
Program forward_only(const PipelineShape& shape) {
  check_shape(shape, "forward-only");
  Program program = empty_program(shape);
  program.passes = {{"F", Direction::Down, {}, {}}};
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    order.reserve(static_cast<std::size_t>(shape.chunks) *
                  static_cast<std::size_t>(shape.microbatches));
    for (int begin = 0; begin < shape.microbatches; begin += shape.ranks) {
      const int end = std::min(begin + shape.ranks, shape.microbatches);
      for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        for (int microbatch = begin; microbatch < end; ++microbatch) {
          order.push_back(action_of(shape, kForward, rank, chunk, microbatch));
        }
      }
    }
  }
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/schedules/common.hpp"

namespace paceline::sim {

// PipeDream-flush (Narayanan et al., 2021) and DAPPLE: rank r warms up with as many forwards as
// there are ranks behind it, then alternates, so it never holds more than ranks - r microbatches.
Program one_f_one_b(const PipelineShape& shape) {
  check_one_chunk(shape, "1f1b");
  Program program = two_pass_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const int warm_up = std::min(shape.ranks - rank - 1, shape.microbatches);
    int forward = 0;
    while (forward < warm_up) order.push_back(action_of(shape, kForward, rank, 0, forward++));
    for (int backward = 0; backward < shape.microbatches; ++backward) {
      if (forward < shape.microbatches) {
        order.push_back(action_of(shape, kForward, rank, 0, forward++));
      }
      order.push_back(action_of(shape, kBackward, rank, 0, backward));
    }
  }
  return program;
}

}  // namespace paceline::sim

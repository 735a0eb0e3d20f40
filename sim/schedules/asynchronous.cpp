// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/asynchronous.hpp"

#include <algorithm>

#include "sim/updates.hpp"

namespace paceline::sim {

int update_every(const PipelineShape& shape) {
  return shape.options.update_every > 0 ? shape.options.update_every : shape.ranks;
}

Program without_flush(const PipelineShape& shape, const char* name, int round_trip, int every,
                      Weights weights) {
  check_one_chunk(shape, name);
  Program program = two_pass_program(shape);
  const std::uint8_t update = add_update_pass(program);
  program.weights = weights;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    order.reserve(static_cast<std::size_t>(2 * shape.microbatches + shape.microbatches / every));
    const int warm_up = std::min(round_trip * (shape.ranks - 1 - rank), shape.microbatches);
    int forward = 0;
    while (forward < warm_up) order.push_back(stage_action(kForward, rank, forward++));
    for (int backward = 0; backward < shape.microbatches; ++backward) {
      if (forward < shape.microbatches) {
        order.push_back(stage_action(kForward, rank, forward++));
      }
      order.push_back(stage_action(kBackward, rank, backward));
      if ((backward + 1) % every == 0) order.push_back(stage_action(update, rank, backward));
    }
  }
  return program;
}

}  // namespace paceline::sim

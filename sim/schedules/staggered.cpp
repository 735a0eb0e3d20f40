// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/staggered.hpp"

#include <algorithm>

namespace paceline::sim {

Program staggered_program(const PipelineShape& shape, int lead) {
  Program program = split_program(shape);
  const int m = shape.microbatches;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const auto add = [&](std::uint8_t pass, int microbatch) {
      if (microbatch < m) order.push_back(stage_action(pass, rank, microbatch));
    };
    const int warm_up = std::min(lead * (shape.ranks - 1 - rank), m);
    const int late = std::min(lead * rank, m);
    for (int k = 0; k < warm_up; ++k) add(kForward, k);
    for (int k = 0; k < m; ++k) {
      add(kForward, warm_up + k);
      add(kInput, k);
      if (k >= late) add(kWeight, k - late);
    }
    for (int k = m - late; k < m; ++k) add(kWeight, k);
  }
  return program;
}

}  // namespace paceline::sim

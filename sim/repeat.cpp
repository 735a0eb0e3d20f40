// SPDX-License-Identifier: Apache-2.0
#include "sim/repeat.hpp"

#include <limits>

#include "base/error.hpp"

namespace paceline::sim {

Program repeated(const Program& step, int times) {
  PACELINE_CHECK(times >= 1);
  if (step.microbatches > std::numeric_limits<std::int32_t>::max() / times) {
    throw base::Error("program", std::to_string(step.microbatches) + " microbatches are too many",
                      "fewer microbatches per step");
  }
  Program program = step;
  program.microbatches = step.microbatches * times;
  for (std::vector<Action>& order : program.order) {
    const std::size_t once = order.size();
    order.reserve(once * static_cast<std::size_t>(times));
    for (int k = 1; k < times; ++k) {
      for (std::size_t i = 0; i < once; ++i) {
        Action action = order[i];
        action.microbatch += k * step.microbatches;
        order.push_back(action);
      }
    }
  }
  return program;
}

}  // namespace paceline::sim

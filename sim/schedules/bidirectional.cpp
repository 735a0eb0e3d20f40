// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/bidirectional.hpp"

#include <optional>

#include "base/error.hpp"

namespace paceline::sim {

void fill_bidirectional(Program& program, const PipelineShape& shape) {
  const int stages = shape.stages();
  const int units = (shape.microbatches + shape.ranks - 1) / shape.ranks;
  // A unit is 2 * stages slots of every rank; its last backward ends ranks - 2 slots later.
  const auto slots = static_cast<std::size_t>(2 * stages) * static_cast<std::size_t>(units) +
                     static_cast<std::size_t>(stages);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<std::optional<Action>> table(slots);
    const auto place = [&](std::size_t slot, const Action& action) {
      PACELINE_CHECK(slot < slots && !table[slot]);
      table[slot] = action;
    };
    for (int m = 0; m < shape.microbatches; ++m) {
      const int unit = m / shape.ranks, within = m % shape.ranks, direction = within % 2;
      const std::size_t begin =
          static_cast<std::size_t>(unit) * 2 * static_cast<std::size_t>(stages) +
          static_cast<std::size_t>(within - direction);
      for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        const int as = direction == 0 ? rank : shape.ranks - 1 - rank;
        const int stage = zigzag_stage(shape.ranks, as, chunk);
        place(begin + static_cast<std::size_t>(stage), stage_action(kForward, stage, m));
        place(begin + static_cast<std::size_t>(2 * stages - 1 - stage),
              stage_action(kBackward, stage, m));
      }
    }
    for (const auto& action : table) {
      if (action) program.order[static_cast<std::size_t>(rank)].push_back(*action);
    }
  }
}

}  // namespace paceline::sim

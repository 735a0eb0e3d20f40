// SPDX-License-Identifier: Apache-2.0
#include "sim/placement.hpp"

namespace paceline::sim {

std::vector<int> stages_of(const Program& program, int rank) {
  std::vector<int> stages;
  if (rank < 0 || static_cast<std::size_t>(rank) >= program.order.size()) return stages;
  std::vector<bool> held(static_cast<std::size_t>(program.stages), false);
  for (const Action& action : program.order[static_cast<std::size_t>(rank)])
    held.at(static_cast<std::size_t>(action.stage)) = true;
  for (int stage = 0; stage < program.stages; ++stage) {
    if (held[static_cast<std::size_t>(stage)]) stages.push_back(stage);
  }
  return stages;
}

Placement placement_of(const Program& program) {
  Placement placement;
  placement.ranks.resize(static_cast<std::size_t>(program.stages));
  for (int rank = 0; rank < static_cast<int>(program.order.size()); ++rank) {
    placement.stages.push_back(stages_of(program, rank));
    for (const int stage : placement.stages.back())
      placement.ranks[static_cast<std::size_t>(stage)].push_back(rank);
  }
  return placement;
}

}  // namespace paceline::sim

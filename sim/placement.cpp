// SPDX-License-Identifier: Apache-2.0
#include "sim/placement.hpp"

#include <algorithm>

namespace paceline::sim {

Placement placement_of(const Program& program) {
  Placement placement;
  placement.stages.resize(program.order.size());
  placement.ranks.resize(static_cast<std::size_t>(program.stages));
  std::vector<int> last_rank(static_cast<std::size_t>(program.stages), -1);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    for (const Action& action : program.order[rank]) {
      const auto stage = static_cast<std::size_t>(action.stage);
      if (last_rank[stage] == static_cast<int>(rank)) continue;
      last_rank[stage] = static_cast<int>(rank);
      placement.stages[rank].push_back(action.stage);
      placement.ranks[stage].push_back(static_cast<int>(rank));
    }
    std::sort(placement.stages[rank].begin(), placement.stages[rank].end());
  }
  return placement;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/copy_updates.hpp"

#include <algorithm>

namespace paceline::sim {

void CopyUpdates::added(int stage, int lane, TaskId first, std::span<const TaskId> gradients) {
  std::vector<Copy>& copies = stages_[static_cast<std::size_t>(stage)];
  auto copy =
      std::find_if(copies.begin(), copies.end(), [&](const Copy& c) { return c.lane == lane; });
  if (copy == copies.end()) copy = copies.insert(copies.end(), {lane, {}});
  copy->updates.push_back({first, {gradients.begin(), gradients.end()}});
}

void CopyUpdates::join(TaskGraph& graph) const {
  std::vector<Dependency> more;
  for (const std::vector<Copy>& copies : stages_) {
    for (const Copy& copy : copies) {
      for (const Copy& other : copies) {
        const std::size_t shared =
            &copy == &other ? 0 : std::min(copy.updates.size(), other.updates.size());
        for (std::size_t k = 0; k < shared; ++k) {
          for (const TaskId gradient : other.updates[k].gradients)
            more.push_back({copy.updates[k].first, gradient});
        }
      }
    }
  }
  graph.add_dependencies(std::move(more));
}

}  // namespace paceline::sim

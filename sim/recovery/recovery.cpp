// SPDX-License-Identifier: Apache-2.0
#include "sim/recovery/recovery.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "sim/minimax_layers.hpp"

namespace paceline::sim {
namespace {

/// First and one past the last: nodes are numbered through the groups, as devices are.
std::pair<int, int> devices_of(const models::Cluster& cluster, int node) {
  int device = 0;
  for (const models::NodeGroup& group : cluster.groups) {
    if (node < group.nodes) {
      device += node * group.devices_per_node;
      return {device, device + group.devices_per_node};
    }
    node -= group.nodes;
    device += group.devices();
  }
  return {device, device};
}

}  // namespace

RecoveryFunction recovery_of(const models::RecoveryPolicy& policy) {
#define PACELINE_RECOVERY(function, word, traits, summary) \
  if (policy.name == (word)) return function;
#include "models/scenario/recoveries.def"
#undef PACELINE_RECOVERY
  return nullptr;
}

models::Scenario without_failures(const models::Scenario& scenario) {
  models::Scenario s = scenario;
  s.failures.reset();
  s.jitter.reset();
  s.prices.reset();
  s.run_tokens = 0;
  s.foreign = {};
  return s;
}

Lost lost_with(const models::Scenario& s, const models::Plan& plan, const std::vector<int>& nodes) {
  const models::Mesh& mesh = plan.meshes.front();
  const models::MeshAxis dp = mesh.axis("dp"), pp = mesh.axis("pp");
  std::set<std::pair<int, int>> cells;
  for (const int node : nodes) {
    const auto [first, end] = devices_of(s.cluster, node);
    for (int rank = first; rank < std::min(end, plan.world_size); ++rank)
      cells.insert({rank / pp.stride % pp.size, rank / dp.stride % dp.size});
  }
  Lost lost;
  lost.cells.resize(static_cast<std::size_t>(pp.size));
  std::set<int> replicas;
  const int unit = std::max(1, s.parallel.shard);
  for (const auto& [stage, replica] : cells) {
    ++lost.cells[static_cast<std::size_t>(stage)];
    replicas.insert(replica / unit);
  }
  lost.replicas = static_cast<int>(replicas.size());
  std::sort(lost.cells.rbegin(), lost.cells.rend());
  return lost;
}

std::vector<int> balanced_layers(int layers, const std::vector<double>& load,
                                 const std::vector<double>& ends) {
  PACELINE_CHECK(ends.size() == load.size());
  const int stages = static_cast<int>(load.size());
  // From the last stage on, so that of equal cuts the first stages have the fewest layers.
  const auto seconds = [&](int from_last, int begin, int end) {
    const auto s = static_cast<std::size_t>(stages - 1 - from_last);
    return (end - begin + ends[s]) * load[s];
  };
  std::vector<int> out = minimax_layers(layers, stages, seconds);
  std::reverse(out.begin(), out.end());
  return out;
}

int most_moved(const std::vector<int>& before, const std::vector<int>& after) {
  int most = 0, old_first = 0, new_first = 0;
  for (std::size_t s = 0; s < before.size(); ++s) {
    const int kept = std::max(
        0, std::min(old_first + before[s], new_first + after[s]) - std::max(old_first, new_first));
    most = std::max(most, after[s] - kept);
    old_first += before[s];
    new_first += after[s];
  }
  return most;
}

}  // namespace paceline::sim

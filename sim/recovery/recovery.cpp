// SPDX-License-Identifier: Apache-2.0
#include "sim/recovery/recovery.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"

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
  const std::size_t stages = load.size();
  const auto count = static_cast<std::size_t>(layers);
  PACELINE_CHECK(stages > 0 && ends.size() == stages && count >= stages);
  // best[s][n]: least maximum over stages s and later with n layers; each has at least one.
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(count + 1, 1e300));
  std::vector<std::vector<int>> choice(stages, std::vector<int>(count + 1, 0));
  best[stages][0] = 0;
  for (std::size_t s = stages; s-- > 0;) {
    for (std::size_t n = 1; n <= count; ++n) {
      for (std::size_t own = 1; own <= n; ++own) {
        const double mine = (static_cast<double>(own) + ends[s]) * load[s];
        const double worst = std::max(mine, best[s + 1][n - own]);
        if (worst >= best[s][n]) continue;
        best[s][n] = worst;
        choice[s][n] = static_cast<int>(own);
      }
    }
  }
  std::vector<int> out;
  std::size_t left = count;
  for (std::size_t s = 0; s < stages; ++s) {
    out.push_back(choice[s][left]);
    left -= static_cast<std::size_t>(out.back());
  }
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

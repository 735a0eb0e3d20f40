// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>

#include "models/cost/collnet.hpp"
#include "models/parallel/axes.hpp"
#include "models/parallel/plan.hpp"

/// Groups of ranks as the collective model sees them, and what has to be said of them.
namespace paceline::models {

namespace {

/// How much less the uplinks of a first switch carry than the ports below it, for traffic between
/// the switches of `first` and `last` that `block` consecutive nodes send at the same time.
double uplink_share(const Cluster& cluster, int first, int last, int block) {
  const int below = cluster.nodes_per_switch;
  if (below == 0) return cluster.oversubscription;
  if (cluster.place_of(first).node / below == cluster.place_of(last).node / below) return 1;
  const double crossing = std::min(1.0, static_cast<double>(block) / below);
  return std::max(1.0, cluster.oversubscription * crossing);
}

/// What is left of that share where switches add what comes from below and pass one sum on, for a
/// group of `domains` evenly spread.
double tree_uplink_share(const Cluster& cluster, double share, int first, int last, int domains) {
  const int below = cluster.nodes_per_switch;
  if (below == 0) return share;
  const int switches =
      cluster.place_of(last).node / below - cluster.place_of(first).node / below + 1;
  return std::max(1.0, share / std::max(1, domains / switches));
}

/// What the layout says of bandwidth: links, ports, siblings, and the share of the uplinks a group
/// gets that spans several first switches.
CollectiveGroup from_layout(const Scenario& s, const GroupLayout& layout, int first, int last,
                            int block, const CollectiveTable* table) {
  const Cluster& cluster = s.cluster;
  CollectiveGroup group = group_of_layout(cluster, layout);
  const double share = uplink_share(cluster, first, last, block);
  group.tree_sharers =
      group.sharers * tree_uplink_share(cluster, share, first, last, group.domains);
  group.sharers *= share;
  group.algorithms = s.collectives.algorithms;
  group.protocols = s.collectives.protocols;
  group.tuner = s.collectives.tuner;
  const NodeGroup& node = cluster.groups.front();
  if (s.collectives.logs != nullptr)
    group.logs = curves_for(*s.collectives.logs, group, nccl_release(s.stack.nccl));
  if (table != nullptr && group.domains == 1 && layout.common == &node.levels.back().link) {
    const int measured_on = table->devices;
    if (measured_on == 0 || measured_on == group.domain_devices) group.table = table;
  }
  return group;
}

/// Whether a group that straddles more of the machine is the one all others wait for.
bool slower(const GroupLayout& a, const GroupLayout& b) {
  if (a.sites != b.sites) return a.sites > b.sites;
  if (a.sites > 1) return a.node_rate() < b.node_rate();
  return a.domains > b.domains;
}

/// Calls f with the first rank of every replica, or of an even selection of many.
template <class F>
void each_replica(const Plan& plan, const F& f) {
  constexpr std::int64_t kLooked = 256;
  const std::int64_t step = std::max<std::int64_t>(1, plan.members_per_lane / kLooked);
  for (std::int64_t k = 0; k < plan.members_per_lane; k += step) {
    f(replica_offset(plan.meshes.front(), static_cast<int>(k)));
  }
}

CollectiveGroup group_over(const Scenario& s, std::span<const Axis> axes, int first) {
  std::vector<Axis> used;
  std::int64_t last = first;
  for (const Axis& axis : axes) {
    if (axis.count <= 1) continue;
    used.push_back(axis);
    last += (axis.count - 1) * axis.stride;
  }
  if (used.empty()) return {};
  GroupLayout layout = layout_of(s.cluster, first, used);
  if (used.size() == 1 && used.front().stride == 1) {
    // Consecutive ranks: some groups may straddle nodes though the first does not. All wait for the
    // slowest, and the pattern repeats well within this many groups.
    constexpr int kLooked = 64;
    const int size = used.front().count;
    const int groups = std::min(kLooked, s.parallel.world_size() / size);
    for (int g = 1; g < groups; ++g) {
      const GroupLayout other = layout_of(s.cluster, s.parallel.first_rank + g * size, used);
      if (slower(other, layout)) layout = other;
    }
  }
  return from_layout(s, layout, first, static_cast<int>(last), s.cluster.nodes_per_switch,
                     s.tables.empty() ? nullptr : &s.tables.front());
}

/// Of the groups of the stage of `first` the one that takes longest; without sites the first stands
/// for all. Of many replicas an even selection is looked at.
CollectiveGroup slowest_over(const Plan& plan, const Scenario& s, std::span<const Axis> axes,
                             int first) {
  CollectiveGroup slowest = group_over(s, axes, first);
  if (s.cluster.fabric.sites.empty()) return slowest;
  const auto seconds = [&](const CollectiveGroup& group) {
    constexpr base::Bytes kLarge(64e6);
    return collective_time(CollectiveOp::AllReduce, kLarge, group, nccl_release(s.stack.nccl)).time;
  };
  const int origin = s.parallel.first_rank;
  each_replica(plan, [&](int offset) {
    const int member = first_member(first - origin + offset, axes) + origin;
    const CollectiveGroup group = group_over(s, axes, member);
    if (seconds(group) > seconds(slowest)) slowest = group;
  });
  return slowest;
}

/// "collnet-direct, nvls": what the group's collectives leave to the switches of the network.
std::string network_algorithms(const Scenario& s, const CollectiveGroup& group) {
  if (group.network == nullptr || !group.network->sharp) return "";
  unsigned seen = 0;
  std::string names;
  for (const CollectiveOp op :
       {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter}) {
    for (double bytes = 1e3; bytes < 1e11; bytes *= 10) {
      const CollectiveAlgorithm a =
          collective_time(op, base::Bytes(bytes), group, nccl_release(s.stack.nccl)).algorithm;
      const unsigned bit = 1u << static_cast<unsigned>(a);
      if (!reduces_in_network(a, group.domains) || (seen & bit) != 0) continue;
      seen |= bit;
      names += (names.empty() ? "" : ", ") + std::string(to_text(a));
    }
  }
  return names;
}

}  // namespace

CollectiveGroup group_of(const Plan& plan, const Scenario& s,
                         std::span<const std::string_view> names, int first_device) {
  std::vector<Axis> axes;
  for (const MeshAxis& axis : plan.meshes.front().axes) {
    if (std::find(names.begin(), names.end(), axis.name) != names.end()) {
      axes.push_back({axis.stride, axis.size});
    }
  }
  return slowest_over(plan, s, axes, first_device);
}

ContextGroups context_groups(const Plan& plan, const Scenario& s, int first_device) {
  const MeshAxis axis = plan.meshes.front().axis("cp");
  const int inner = std::max(1, s.parallel.context.inner);
  const auto over = [&](std::int64_t stride, int count) {
    const Axis part[] = {{stride, count}};
    return slowest_over(plan, s, part, first_device);
  };
  return {over(axis.stride, axis.size), over(axis.stride, inner),
          over(std::int64_t{axis.stride} * inner, axis.size / inner)};
}

DataAxes data_axes(const Plan& plan, const Scenario& s) {
  const int shard = s.parallel.shard > 0 ? s.parallel.shard : s.parallel.dp;
  DataAxes axes;
  for (const MeshAxis& axis : plan.meshes.front().axes) {
    if (axis.name != "cp" && axis.name != "dp") continue;
    axes.all.push_back({axis.stride, axis.size});
    if (axis.name == "cp") {
      axes.shard.push_back({axis.stride, axis.size});
    } else {
      axes.shard.push_back({axis.stride, shard});
      axes.replicas.push_back({std::int64_t{axis.stride} * shard, axis.size / shard});
    }
  }
  return axes;
}

DataGroups data_groups(const Plan& plan, const Scenario& s, int first_device) {
  const DataAxes axes = data_axes(plan, s);
  return {slowest_over(plan, s, axes.all, first_device),
          slowest_over(plan, s, axes.shard, first_device),
          slowest_over(plan, s, axes.replicas, first_device)};
}

ExpertAxes expert_axes(const Plan& plan) {
  const Mesh* mesh = expert_mesh(plan);
  if (mesh == nullptr) return {};
  const auto axis = [&](std::string_view name) {
    const MeshAxis a = mesh->axis(name);
    return std::vector<Axis>{{a.stride, a.size}};
  };
  return {axis("ep"), axis("etp"), {axis("edp"), axis("edp"), {}}};
}

ExpertGroups expert_groups(const Plan& plan, const Scenario& s, int first_device) {
  const ExpertAxes axes = expert_axes(plan);
  return {slowest_over(plan, s, axes.ep, first_device),
          slowest_over(plan, s, axes.etp, first_device),
          {slowest_over(plan, s, axes.data.all, first_device),
           slowest_over(plan, s, axes.data.shard, first_device),
           slowest_over(plan, s, axes.data.replicas, first_device)}};
}

CollectiveGroup pair_of(const Scenario& s, int from, int to) {
  // All ranks between the two send at the same time: a stage of `block` nodes.
  const int block = std::max(1, std::abs(to - from) / s.cluster.groups.front().devices_per_node);
  return from_layout(s, layout_of_pair(s.cluster, from, to), std::min(from, to), std::max(from, to),
                     block, nullptr);
}

CollectiveGroup slowest_pair(const Plan& plan, const Scenario& s, int from, int to) {
  CollectiveGroup slowest = pair_of(s, from, to);
  if (s.cluster.fabric.sites.empty()) return slowest;
  const auto seconds = [&](const CollectiveGroup& pair) {
    constexpr base::Bytes kLarge(16e6);
    return collective_time(CollectiveOp::SendRecv, kLarge, pair, nccl_release(s.stack.nccl)).time;
  };
  each_replica(plan, [&](int offset) {
    const CollectiveGroup pair = pair_of(s, offset + from, offset + to);
    if (seconds(pair) > seconds(slowest)) slowest = pair;
  });
  return slowest;
}

int replica_offset(const Mesh& mesh, int replica) {
  int offset = 0;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.name == "pp") continue;
    offset += replica % axis.size * axis.stride;
    replica /= axis.size;
  }
  return offset;
}

bool places_differ(const Scenario& s) {
  return s.cluster.groups.size() > 1 || !s.cluster.fabric.sites.empty();
}

std::vector<std::string> unclaimed_groups(const Plan& plan, const Scenario& s) {
  std::vector<std::string> found;
  const auto look = [&](const CollectiveGroup& group, const std::string& what) {
    const std::string_view link = unclaimed_link(group);
    if (group.logs != nullptr) return;
    if (const std::string names = link.empty() ? network_algorithms(s, group) : ""; !names.empty())
      found.push_back("no claim without a log: " + what + " over " + group.network->name +
                      " uses its reducing switches (" + names +
                      "), whose times no log has checked; name nccl-tests logs of it under "
                      "collectives.logs");
    if (link.empty()) return;
    found.push_back("no claim without a log: " + what + " over " + std::string(link) +
                    " has no measured times and no model that holds there; name nccl-tests logs "
                    "of it under collectives.logs");
  };
  const auto axis = [&](std::string_view name) {
    return group_of(plan, s, std::span<const std::string_view>(&name, 1), s.parallel.first_rank);
  };
  look(axis("tp"), "tensor parallelism");
  look(axis("cp"), "context parallelism");
  look(expert_groups(plan, s, s.parallel.first_rank).ep, "expert parallelism");
  for (int r = 0; r < (places_differ(s) ? s.parallel.pp : 1); ++r) {
    look(data_groups(plan, s, plan.pipeline[static_cast<std::size_t>(r)].device).all,
         "data parallelism");
    if (!found.empty()) break;
  }
  if (s.parallel.pp > 1) {
    for (int r = 0; r + 1 < (places_differ(s) ? s.parallel.pp : 2); ++r) {
      const auto rank = static_cast<std::size_t>(r);
      const CollectiveGroup pair =
          slowest_pair(plan, s, plan.pipeline[rank].device, plan.pipeline[rank + 1].device);
      if (unclaimed_link(pair).empty()) continue;
      look(pair, "pipeline parallelism");
      break;
    }
  }
  return found;
}

std::vector<std::string> fallen_back_groups(const Plan& plan, const Scenario& s) {
  std::vector<std::string> found;
  const auto look = [&](const CollectiveGroup& group, const std::string& what) {
    constexpr base::Bytes kLarge(64e6);
    if (group.ranks <= 1) return;
    const CollectiveChoice choice =
        collective_time(CollectiveOp::AllReduce, kLarge, group, nccl_release(s.stack.nccl));
    if (choice.measured ||
        ((group.algorithms >> static_cast<unsigned>(choice.algorithm)) & 1u) != 0)
      return;
    found.push_back("all_reduce of " + what + " cannot run as collectives.algorithm says: " +
                    std::string(to_text(choice.algorithm)) + " is taken, as NCCL does");
  };
  constexpr std::array<std::string_view, 1> kTp{"tp"};
  look(group_of(plan, s, kTp, s.parallel.first_rank), "tensor parallelism");
  look(data_groups(plan, s, s.parallel.first_rank).all, "data parallelism");
  return found;
}

}  // namespace paceline::models

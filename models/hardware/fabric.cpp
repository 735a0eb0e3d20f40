// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric.hpp"

#include <algorithm>
#include <numeric>

#include "base/message.hpp"
#include "base/text.hpp"
#include "models/hardware/pcie.hpp"

namespace paceline::models {
namespace {

/// Where a node stands: its group, and the first node and device of that group in the cluster.
struct Stand {
  const NodeGroup* group = nullptr;
  std::size_t index = 0;  ///< of the group
  int first_node = 0, first_device = 0;
};

std::vector<Stand> stands_of(const Cluster& cluster) {
  std::vector<Stand> stands;
  Stand at;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    at.group = &cluster.groups[g];
    at.index = g;
    stands.push_back(at);
    at.first_node += at.group->nodes;
    at.first_device += at.group->devices();
  }
  return stands;
}

VertexKind kind_of(const Link& link) {
  return link.kind == LinkKind::Pcie ? VertexKind::PcieSwitch : VertexKind::DeviceSwitch;
}

/// "n3.nvswitch"; part of a node: "n3.nvlink2.1", the second pair; over nodes: "rack0.nvswitch".
std::string domain_name(const Stand& stand, const Level& level, int domain) {
  const std::string kind(to_text(level.link.kind));
  const int per_node = stand.group->devices_per_node;
  if (level.size > per_node) {
    const std::string of = stand.index == 0 ? "" : std::to_string(stand.index) + ".";
    return "rack" + of + std::to_string(domain) + "." + kind;
  }
  const int in_node = per_node / level.size;
  const std::string name = node_name(stand.first_node + domain / in_node) + "." + kind;
  if (in_node == 1) return name;
  return name + std::to_string(level.size) + "." + std::to_string(domain % in_node);
}

/// The wires of one level; nodes are built in ascending order, so a domain is either the last one
/// built or a new one.
struct LevelState {
  int domain = -1, vertex = -1;
};

void add_device(FabricBuilder& builder, const Stand& stand, int device,
                std::array<LevelState, kMaxLevels>& levels) {
  const NodeGroup& group = *stand.group;
  const int inside = device - stand.first_device;
  const int node = stand.first_node + inside / group.devices_per_node;
  const int vertex = builder.fabric.device_vertex[static_cast<std::size_t>(device)];
  for (std::size_t l = 0; l < group.levels.size(); ++l) {
    const Level& level = group.levels[l];
    const bool tree = group.pcie && level.link.kind == LinkKind::Pcie;
    if (level.size <= 1 || tree) continue;
    LevelState& state = levels[l];
    if (state.domain != inside / level.size) {
      state.domain = inside / level.size;
      const int of_node = level.size > group.devices_per_node ? -1 : node;
      state.vertex =
          builder.add_vertex(domain_name(stand, level, state.domain), kind_of(level.link), of_node);
    }
    builder.hang(vertex, state.vertex, level.link.rate(), level.link.latency);
  }
}

void add_nics(FabricBuilder& builder, const NodeGroup& group, int node, int first_device,
              const PcieVertices& pcie) {
  const int devices = group.devices_per_node, ports = group.ports_per_node;
  const int nics = nics_of(group);
  if (nics == 0) return;
  const base::BytesPerSecond rate = group.network.rate() * (static_cast<double>(ports) / nics);
  // Past the device's own connection nothing reaches its NIC.
  const base::BytesPerSecond host = group.device.host_bandwidth;
  for (int n = 0; n < nics; ++n) {
    const int vertex =
        builder.add_vertex(node_name(node) + ".nic" + std::to_string(n), VertexKind::Nic, node);
    builder.nics.push_back({vertex, node, n, rate, group.network.latency});
  }
  const std::size_t own = builder.nics.size() - static_cast<std::size_t>(nics);
  std::vector<Uplink> slots;
  if (group.pcie)
    for (std::size_t n = 0; n < group.pcie->nic_switch.size(); ++n) {
      const auto at = static_cast<std::size_t>(group.pcie->nic_switch[n]);
      slots.push_back(
          builder.join(builder.nics[own + n].vertex, pcie.switches[at], group.pcie->slot.rate()));
    }
  for (int d = 0; d < devices; ++d) {
    const auto n = static_cast<std::size_t>(std::int64_t{d} * nics / devices);
    const int vertex = builder.fabric.device_vertex[static_cast<std::size_t>(first_device + d)];
    if (group.pcie) {
      const Uplink way = lead_to_nic(builder, *group.pcie, pcie, slots[n], d, static_cast<int>(n));
      builder.hung.push_back({vertex, way});
      continue;
    }
    builder.hang(vertex, builder.nics[own + n].vertex, host.value > 0 ? host : rate);
  }
}

void add_nodes(FabricBuilder& builder) {
  auto at = builder.nodes.begin();
  for (const Stand& stand : stands_of(builder.cluster)) {
    std::array<LevelState, kMaxLevels> levels;
    const int per_node = stand.group->devices_per_node;
    const int end = stand.first_node + stand.group->nodes;
    for (; at != builder.nodes.end() && *at < end; ++at) {
      const int first = stand.first_device + (*at - stand.first_node) * per_node;
      for (int d = first; d < first + per_node; ++d) {
        const std::string name = node_name(*at) + ".g" + std::to_string(d - first);
        builder.fabric.device_vertex[static_cast<std::size_t>(d)] =
            builder.add_vertex(name, VertexKind::Device, *at, d);
      }
      for (int d = first; d < first + per_node; ++d) add_device(builder, stand, d, levels);
      PcieVertices pcie;
      if (stand.group->pcie) pcie = add_pcie(builder, *stand.group, *at, first);
      add_nics(builder, *stand.group, *at, first, pcie);
    }
  }
}

std::int64_t devices_on(const Cluster& cluster, const std::vector<int>& nodes) {
  std::int64_t devices = 0;
  auto at = nodes.begin();
  for (const Stand& stand : stands_of(cluster)) {
    const auto stop = std::lower_bound(at, nodes.end(), stand.first_node + stand.group->nodes);
    devices += (stop - at) * stand.group->devices_per_node;
    at = stop;
  }
  return devices;
}

std::vector<int> sorted_nodes(const Cluster& cluster, std::span<const int> used) {
  int count = 0;
  for (const NodeGroup& group : cluster.groups) count += group.nodes;
  std::vector<int> nodes(used.begin(), used.end());
  if (nodes.empty()) {
    nodes.resize(static_cast<std::size_t>(count));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  std::sort(nodes.begin(), nodes.end());
  PACELINE_CHECK(!nodes.empty() && nodes.front() >= 0 && nodes.back() < count);
  PACELINE_CHECK(std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end());
  return nodes;
}

/// The fabric that is stated, or what oversubscription and nodes_per_switch mean.
FabricSpec spec_of(const Cluster& cluster) {
  if (!cluster.fabric.kind.empty()) return cluster.fabric;
  FabricSpec spec;
  spec.kind = "switch";
  if (cluster.nodes_per_switch == 0 && cluster.oversubscription <= 1) return spec;
  spec.kind = "fat-tree";
  spec.nodes_per_leaf = std::max(1, cluster.nodes_per_switch);
  spec.oversubscription = cluster.oversubscription;
  return spec;
}

}  // namespace

std::string_view to_text(VertexKind kind) {
  switch (kind) {
    case VertexKind::Device:
      return "device";
    case VertexKind::Nic:
      return "nic";
    case VertexKind::PcieSwitch:
      return "pcie-switch";
    case VertexKind::HostBridge:
      return "host-bridge";
    case VertexKind::DeviceSwitch:
      return "device-switch";
    case VertexKind::Switch:
      return "switch";
    case VertexKind::Router:
      return "router";
    case VertexKind::Site:
      return "site";
  }
  PACELINE_CHECK(false);
  return {};
}

std::string fabric_text(const Cluster& cluster) {
  const FabricSpec spec = spec_of(cluster);
  const auto n = [](int value) { return std::to_string(value); };
  if (cluster.groups.front().ports_per_node == 0) return "inside the nodes only";
  std::string text = spec.kind;
  if (spec.kind == "dragonfly")
    text += " of " + n(spec.groups) + " groups of " + n(spec.routers_per_group) + " routers of " +
            n(spec.nodes_per_router) + " nodes";
  if (spec.kind == "torus")
    text += " of " + n(spec.dims[0]) + " x " + n(spec.dims[1]) + " x " + n(spec.dims[2]);
  if (spec.nodes_per_leaf > 0) text += " of " + n(spec.nodes_per_leaf) + " nodes a leaf";
  if (spec.spines > 0) text += ", " + n(spec.spines) + " spines";
  if (spec.oversubscription > 1)
    text += ", oversubscription " + base::format_fixed(spec.oversubscription, 2);
  if (!spec.sites.empty())
    text += " (" + n(static_cast<int>(spec.sites.size())) + ", " +
            n(static_cast<int>(spec.wan.size())) + " links)";
  return text;
}

Fabric make_fabric(const Cluster& cluster, std::span<const int> nodes_used) {
  FabricBuilder builder{cluster, sorted_nodes(cluster, nodes_used), {}, {}, {}};
  const std::int64_t devices = devices_on(cluster, builder.nodes);
  if (devices > kMaxFabricDevices)
    throw base::Error("cluster " + base::quote(cluster.name),
                      "a fabric of " + std::to_string(devices) + " devices",
                      "at most " + std::to_string(kMaxFabricDevices) + " (2^20) are supported");
  builder.fabric.device_vertex.assign(static_cast<std::size_t>(cluster.devices()), -1);
  add_nodes(builder);
  FabricPart part{0, 0, "", builder.nics};
  for (const NodeGroup& group : cluster.groups) part.nodes += group.nodes;
  const FabricSpec spec = spec_of(cluster);
  if (!part.nics.empty()) fabric_kind(spec.kind).build(builder, spec, part);
  Fabric fabric = builder.finish();
  // Wires of nodes that are not built do not matter.
  apply_faults(fabric, spec.faults);
  return fabric;
}

}  // namespace paceline::models

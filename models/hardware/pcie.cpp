// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/pcie.hpp"

#include <algorithm>
#include <filesystem>

#include "base/message.hpp"

namespace paceline::models {
namespace {

/// `count` things in order over `bins`: thing i goes to bin i * bins / count.
std::vector<int> spread_over(int count, int bins) {
  std::vector<int> at;
  for (int i = 0; i < count; ++i) at.push_back(static_cast<int>(std::int64_t{i} * bins / count));
  return at;
}

int sockets_of(const PcieTree& tree) {
  return *std::max_element(tree.switch_socket.begin(), tree.switch_socket.end()) + 1;
}

/// The wires from one switch up to the vertex it shares with another, and down from there.
void between_switches(const FabricBuilder& builder, int from, int to, std::vector<int>& route) {
  const auto uplink = [&](int vertex) -> const Uplink* {
    for (auto at = builder.hung.rbegin(); at != builder.hung.rend(); ++at)
      if (at->first == vertex) return &at->second;
    return nullptr;
  };
  std::vector<int> down;
  while (from != to) {  // both stand at the same height
    const Uplink *a = uplink(from), *b = uplink(to);
    PACELINE_CHECK(a != nullptr && b != nullptr);
    route.push_back(a->up);
    down.push_back(b->down);
    from = builder.fabric.wires[static_cast<std::size_t>(a->up)].to;
    to = builder.fabric.wires[static_cast<std::size_t>(b->up)].to;
  }
  route.insert(route.end(), down.rbegin(), down.rend());
}

}  // namespace

int nics_of(const NodeGroup& group) {
  return std::min(group.devices_per_node, group.ports_per_node);
}

PcieTree read_pcie(base::Fields& node, const Reading& outer, const NodeGroup& group,
                   const NodeTopology* topology) {
  base::Fields fields = node.map("pcie");
  const Reading in{outer.sources, outer.facts, outer.prefix + "pcie."};
  PcieTree tree;
  const int nics = nics_of(group);
  if (topology != nullptr) {
    for (const std::string_view key : {"switches", "sockets"})
      if (fields.has(key)) fields.fail(key, "stands beside 'topology'", "leave one of them out");
    if (nics > 0 && group.ports_per_node != topology->ports)
      node.fail("ports",
                std::to_string(group.ports_per_node) + ", but the topology has " +
                    std::to_string(topology->ports),
                "leave 'ports' or 'pcie' out");
    tree.device_switch = topology->device_switch;
    for (int n = 0; n < nics; ++n)
      tree.nic_switch.push_back(
          topology
              ->port_switch[static_cast<std::size_t>(std::int64_t{n} * topology->ports / nics)]);
    tree.switch_socket = topology->switch_socket;
  } else {
    const int switches = in.integer(fields, "switches", 1, group.devices_per_node);
    const int sockets = in.integer(fields, "sockets", 1, switches);
    tree.device_switch = spread_over(group.devices_per_node, switches);
    tree.nic_switch = spread_over(nics, switches);
    tree.switch_socket = spread_over(switches, sockets);
  }
  tree.slot = in.link(fields, "slot", nullptr);
  tree.root_port = in.link(fields, "root_port", nullptr);
  if (sockets_of(tree) > 1) tree.sockets = in.link(fields, "socket_link", nullptr);
  fields.done();
  return tree;
}

NodeTopology read_node_topology(base::Fields& node, const Reading& in) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(node.file()).parent_path();
  const std::string path = (folder / node.text("topology")).lexically_normal().string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    node.fail("topology", "no file " + base::quote(path),
              "a path from the folder of the file that names it");
  const NodeTopology topology = read_topology(path);
  const auto fact = [&](std::string_view key, int value) {
    put_fact(in.facts, {in.prefix + std::string(key), std::to_string(value), path});
  };
  fact("devices", topology.devices);
  if (topology.ports > 0 && node.has("network") && !node.has("ports"))
    fact("ports", topology.ports);
  return topology;
}

void check_node_topology(const base::Fields& node, const NodeTopology& topology,
                         const NodeGroup& group) {
  for (const Level& level : group.levels) {
    const bool wired = level.link.kind == LinkKind::NvLink;
    if (!wired && level.link.kind != LinkKind::NvSwitch) continue;
    if (topology.nvlinks == 0)
      node.fail("topology", "has no NVLinks, but the node is joined by " + level.link.name);
    if (level.size == group.devices_per_node && wired == topology.nvswitch &&
        group.levels.size() == 1 && topology.devices > 2)
      node.fail("topology", std::string("has NVLinks ") +
                                (wired ? "to switches" : "without switches") +
                                ", but the node is joined by " + level.link.name);
    if (level.link.lanes > 1 && level.link.lanes != topology.nvlinks)
      node.fail("topology", "has " + std::to_string(topology.nvlinks) + " NVLinks a device, but " +
                                level.link.name + " has " + std::to_string(level.link.lanes));
  }
}

PcieVertices add_pcie(FabricBuilder& builder, const NodeGroup& group, int node, int first_device) {
  const PcieTree& tree = *group.pcie;
  const std::string name = node_name(node);
  const int sockets = sockets_of(tree);
  std::vector<int> bridges;
  for (int s = 0; s < sockets; ++s)
    bridges.push_back(
        builder.add_vertex(name + ".bridge" + std::to_string(s), VertexKind::HostBridge, node));
  if (sockets > 1) {
    const int all = builder.add_vertex(name + ".sockets", VertexKind::HostBridge, node);
    for (const int bridge : bridges)
      builder.hang(bridge, all, tree.sockets.rate(), tree.sockets.latency);
  }
  PcieVertices built;
  for (std::size_t s = 0; s < tree.switch_socket.size(); ++s) {
    built.switches.push_back(
        builder.add_vertex(name + ".pcie" + std::to_string(s), VertexKind::PcieSwitch, node));
    builder.hang(built.switches.back(), bridges[static_cast<std::size_t>(tree.switch_socket[s])],
                 tree.root_port.rate(), tree.root_port.latency);
  }
  const bool level = std::any_of(group.levels.begin(), group.levels.end(),
                                 [](const Level& l) { return l.link.kind == LinkKind::Pcie; });
  for (std::size_t d = 0; d < tree.device_switch.size(); ++d) {
    const int vertex = builder.fabric.device_vertex[static_cast<std::size_t>(first_device) + d];
    const int at = built.switches[static_cast<std::size_t>(tree.device_switch[d])];
    built.slots.push_back(builder.join(vertex, at, tree.slot.rate(), tree.slot.latency));
    if (level) builder.hung.push_back({vertex, built.slots.back()});
  }
  return built;
}

Uplink lead_to_nic(FabricBuilder& builder, const PcieTree& tree, const PcieVertices& built,
                   const Uplink& nic_slot, int device_in_node, int nic_in_node) {
  const auto at_switch = [&](const std::vector<int>& which, int i) {
    return built.switches[static_cast<std::size_t>(which[static_cast<std::size_t>(i)])];
  };
  const int device_at = at_switch(tree.device_switch, device_in_node);
  const int nic_at = at_switch(tree.nic_switch, nic_in_node);
  const Uplink& slot = built.slots[static_cast<std::size_t>(device_in_node)];
  Lead lead{{slot.up}, {}};
  between_switches(builder, device_at, nic_at, lead.up);
  between_switches(builder, nic_at, device_at, lead.down);
  lead.down.push_back(slot.down);
  builder.fabric.leads.push_back(std::move(lead));
  return {nic_slot.down, nic_slot.up, static_cast<int>(builder.fabric.leads.size()) - 1};
}

}  // namespace paceline::models

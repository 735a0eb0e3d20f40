// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "models/hardware/device.hpp"
#include "models/hardware/fabric_reader.hpp"
#include "models/hardware/pcie.hpp"

namespace paceline::models {
namespace {

std::string read_host(base::Fields& fields) {
  static constexpr std::array<base::Named<std::string_view>, 3> kHosts{
      {{"intel", "intel"}, {"amd", "amd"}, {"arm", "arm"}}};
  return std::string(fields.choice<std::string_view>(
      "host", std::span<const base::Named<std::string_view>>(kHosts)));
}

/// A level lies inside a node or covers whole nodes, divides the next one, and the last one covers
/// the node: every pair of devices then has a link.
void check_levels(const base::Fields& fields, std::string_view key, const NodeGroup& group) {
  const int devices = group.devices_per_node;
  int inner = 1;
  for (const Level& level : group.levels) {
    const std::string size = std::to_string(level.size);
    if (level.size <= inner && !(level.size == 1 && inner == 1))
      fields.fail(key, "level of " + size + " devices after one of " + std::to_string(inner),
                  "list levels from the innermost to the outermost");
    if (level.size % inner != 0)
      fields.fail(key, "a level of " + std::to_string(inner) +
                           " devices does not divide the next of " + size);
    if (devices % level.size != 0 && level.size % devices != 0)
      fields.fail(
          key, "a level of " + size + " devices does not fit nodes of " + std::to_string(devices),
          "it must divide the node or cover whole nodes");
    inner = level.size;
  }
  if (inner < devices)
    fields.fail(key, "no link joins the " + std::to_string(devices) + " devices of a node",
                "the last level must have at least " + std::to_string(devices) + " devices");
}

void read_levels(base::Fields& node, const Reading& in, NodeGroup& group) {
  if (node.has("link") && node.has("levels"))
    node.fail("levels", "stands beside 'link'", "give one link for the whole node or the levels");
  if (node.has("link")) {
    group.levels.push_back({group.devices_per_node, in.link(node, "link", nullptr)});
    return;
  }
  if (!node.has("levels")) {
    if (group.devices_per_node > 1)
      node.fail("link", "missing", "name the link between the devices of a node, or give levels");
    return;
  }
  const auto& items = node.list("levels");
  if (items.empty() || items.size() > kMaxLevels)
    node.fail("levels", "must have 1 to " + std::to_string(kMaxLevels) + " levels");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string name = "levels." + std::to_string(i);
    base::Fields level = node.view(items[i], name);
    const Reading inside{in.sources, in.facts, in.prefix + name + "."};
    const int size = inside.integer(level, "devices", 1, kMaxLevelSize);
    group.levels.push_back({size, inside.link(level, "link", nullptr)});
    level.done();
  }
  check_levels(node, "levels", group);
}

/// The number of `key`, which must be what the topology says where there is one.
int count_beside(base::Fields& node, std::string_view key, const Reading& in, int high,
                 const std::optional<NodeTopology>& topology, int NodeTopology::*told) {
  const int known = topology ? (*topology).*told : 0;
  if (known > 0 && !node.has(key)) return known;
  const int stated = in.integer(node, key, 1, high);
  if (known > 0 && stated != known && key == "devices")
    node.fail(key, std::to_string(stated) + ", but the topology has " + std::to_string(known));
  return stated;
}

NodeGroup read_node(base::Fields node, const Reading& in) {
  NodeGroup group;
  group.device = read_device_at(node, "device");
  std::optional<NodeTopology> topology;
  if (node.has("topology")) topology = read_node_topology(node, in);
  group.devices_per_node =
      count_beside(node, "devices", in, kMaxDevicesPerNode, topology, &NodeTopology::devices);
  read_levels(node, in, group);
  if (node.has("network")) {
    group.network = in.link(node, "network", nullptr);
    group.ports_per_node = count_beside(node, "ports", in, 1024, topology, &NodeTopology::ports);
  } else if (node.has("ports")) {
    node.fail("ports", "stands without 'network'", "name the link of a port, for example ndr400");
  }
  if (topology) check_node_topology(node, *topology, group);
  if (node.has("pcie")) group.pcie = read_pcie(node, in, group, topology ? &*topology : nullptr);
  const bool told = topology && !topology->host.empty() && !node.has("host");
  group.host = told ? topology->host : read_host(node);
  node.done();
  return group;
}

/// Fewer devices a node: inner levels shrink to it, levels over several nodes keep their nodes.
void take_devices(base::Fields& fields, const Reading& in, NodeGroup& group) {
  const int before = group.devices_per_node;
  const int after = in.integer(fields, "devices", 1, kMaxDevicesPerNode);
  if (after > before)
    fields.fail("devices", "the preset has " + std::to_string(before) + " devices a node",
                "describe a larger node inline");
  std::vector<Level> levels;
  for (Level& level : group.levels) {
    level.size = level.size >= before ? level.size / before * after : std::min(level.size, after);
    if (level.size <= 1 || (!levels.empty() && levels.back().size == level.size)) continue;
    levels.push_back(std::move(level));
  }
  if (after < before && group.pcie)
    fields.fail("devices", "the nodes of the preset have a PCIe tree for " + std::to_string(before),
                "describe the node inline");
  group.levels = std::move(levels);
  group.devices_per_node = after;
  if (after > 1) check_levels(fields, "devices", group);
}

void override_network(base::Fields& fields, const Reading& in, NodeGroup& group) {
  const bool had = group.ports_per_node > 0;
  if (fields.has("network"))
    group.network = in.link(fields, "network", had ? &group.network : nullptr);
  if (fields.has("ports")) {
    if (!had && !fields.has("network"))
      fields.fail("ports", "the preset has no network", "name the link of a port under 'network'");
    group.ports_per_node = in.integer(fields, "ports", 1, 1024);
  }
  if (group.pcie && nics_of(group) != static_cast<int>(group.pcie->nic_switch.size()))
    fields.fail("ports", "the nodes of the preset have a PCIe tree for other ports",
                "describe the node inline");
  if (fields.has("network") && group.ports_per_node == 0)
    fields.fail("ports", "missing", "the preset has no network: say how many ports a node has");
  if (!fields.has("efficiency")) return;
  if (group.ports_per_node == 0) fields.fail("efficiency", "the cluster has no network");
  group.network.efficiency = in.number(fields, "efficiency", 1e-6, 1);
  for (const Fact& fact : in.facts)
    if (fact.key == in.prefix + "efficiency")
      put_fact(group.network.facts, {"efficiency", fact.value, fact.source});
}

/// What a scenario may change of a preset.
void apply_overrides(base::Fields& fields, const Reading& at, NodeGroup& group) {
  const Reading in{at.sources, at.facts, at.prefix + "node."};
  if (fields.has("device")) group.device = read_device_at(fields, "device");
  if (fields.has("devices")) take_devices(fields, in, group);
  override_network(fields, in, group);
  if (fields.has("host")) group.host = read_host(fields);
}

/// `{node: …, nodes: 4}`; several nodes that share no link need a network.
NodeGroup read_nodes(base::Fields& fields, const Reading& in) {
  NodeGroup group =
      read_node(fields.map("node"), Reading{in.sources, in.facts, in.prefix + "node."});
  group.nodes = in.integer(fields, "nodes", 1, kMaxDevices);
  return group;
}

/// `{preset: …, nodes: …}` as one entry of `groups`.
NodeGroup read_preset_group(base::Fields& fields, const Reading& in) {
  const Cluster preset = read_cluster(fields.text("preset"), fields.where("preset"));
  if (preset.groups.size() != 1)
    fields.fail("preset", "'" + preset.name + "' has nodes of several kinds",
                "name its kinds one by one");
  for (const Fact& fact : preset.facts)
    if (fact.key != "nodes" && fact.key != "oversubscription" && fact.key != "nodes_per_switch" &&
        !fact.key.starts_with("fabric."))  // how the nodes are joined is the cluster's to say
      in.facts.push_back({in.prefix + fact.key, fact.value, fact.source});
  NodeGroup group = preset.groups.front();
  group.nodes = in.integer(fields, "nodes", 1, kMaxDevices);
  apply_overrides(fields, in, group);
  return group;
}

void read_groups(base::Fields& fields, const SourceList& sources, Cluster& cluster) {
  const auto& items = fields.list("groups");
  if (items.empty() || items.size() > 1000) fields.fail("groups", "must have 1 to 1000 groups");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string name = "groups." + std::to_string(i);
    base::Fields entry = fields.view(items[i], name);
    const Reading in{sources, cluster.facts, name + "."};
    cluster.groups.push_back(entry.has("preset") ? read_preset_group(entry, in)
                                                 : read_nodes(entry, in));
    entry.done();
  }
}

int outermost(const NodeGroup& group) {
  return group.levels.empty() ? group.devices_per_node : group.levels.back().size;
}

void check_cluster(const base::Fields& fields, std::string_view key, const Cluster& cluster) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : cluster.groups) {
    const std::int64_t here = std::int64_t{group.nodes} * group.devices_per_node;
    devices += here;
    const bool alone = cluster.groups.size() == 1 && here <= outermost(group);
    if (group.ports_per_node == 0 && !alone)
      fields.fail(key, "several nodes without a network between them",
                  "give the link of a port and the ports a node has: network: ndr400, ports: 8");
    if (group.ports_per_node > 0 && cluster.groups.front().ports_per_node > 0 &&
        group.network.sharp != cluster.groups.front().network.sharp)
      fields.fail(key, "the switches reduce (sharp) for some kinds of nodes only",
                  "say it of the network of all of them or of none");
  }
  if (devices > kMaxDevices)
    fields.fail(key, std::to_string(devices) + " devices",
                "at most " + std::to_string(kMaxDevices) + " are supported");
}

void read_oversubscription(base::Fields& fields, const Reading& in, Cluster& cluster) {
  if (fields.has("oversubscription"))
    cluster.oversubscription = in.number(fields, "oversubscription", 1, 1000);
  if (fields.has("nodes_per_switch"))
    cluster.nodes_per_switch = in.integer(fields, "nodes_per_switch", 1, kMaxDevices);
}

/// The part that spec files and scenarios share: nodes of one or of several kinds.
void read_body(base::Fields& fields, const SourceList& sources, Cluster& cluster) {
  const Reading in{sources, cluster.facts, ""};
  if (fields.has("groups"))
    read_groups(fields, sources, cluster);
  else if (fields.has("node"))
    cluster.groups.push_back(read_nodes(fields, in));
  else
    fields.fail("node", "missing", "give preset, node or groups");
  read_oversubscription(fields, in, cluster);
  check_cluster(fields, fields.has("groups") ? "groups" : "nodes", cluster);
  if (fields.has("fabric")) read_fabric(fields, sources, cluster);
}

Cluster read_preset(base::Fields& fields) {
  Cluster cluster = read_cluster(fields.text("preset"), fields.where("preset"));
  const SourceList sources;
  const Reading in{sources, cluster.facts, ""};
  static constexpr std::array<std::string_view, 7> kOfOneKind{
      "nodes", "device", "devices", "network", "ports", "efficiency", "host"};
  if (cluster.groups.size() != 1)
    for (const auto key : kOfOneKind)
      if (fields.has(key)) fields.fail(key, "'" + cluster.name + "' has nodes of several kinds");
  if (fields.has("nodes"))
    cluster.groups.front().nodes = in.integer(fields, "nodes", 1, kMaxDevices);
  if (cluster.groups.size() == 1) apply_overrides(fields, in, cluster.groups.front());
  if (!fields.has("fabric") && !cluster.fabric.kind.empty())
    for (const std::string_view key : {"oversubscription", "nodes_per_switch"})
      if (fields.has(key))
        fields.fail(key, "'" + cluster.name + "' states its fabric", "state a fabric of your own");
  read_oversubscription(fields, in, cluster);
  const std::string_view changed = fields.has("nodes") ? "nodes" : "preset";
  check_cluster(fields, changed, cluster);
  if (fields.has("fabric"))
    read_fabric(fields, sources, cluster);
  else
    check_fabric(fields, changed, cluster);
  return cluster;
}

std::string describe_group(const NodeGroup& group) {
  std::string out = "  " + std::to_string(group.nodes) + (group.nodes == 1 ? " node" : " nodes") +
                    " of " + std::to_string(group.devices_per_node) + " x " + group.device.name;
  for (const Level& level : group.levels)
    out += ", " + level.link.name + " joins " + std::to_string(level.size);
  if (group.ports_per_node > 0)
    out += ", network " + std::to_string(group.ports_per_node) + " x " + group.network.name;
  return out + ", host " + group.host + "\n";
}

}  // namespace

DevicePlace Cluster::place_of(int device) const {
  int first = 0, nodes = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const int devices = groups[i].devices();
    if (device < first + devices) return {i, nodes + (device - first) / groups[i].devices_per_node};
    first += devices;
    nodes += groups[i].nodes;
  }
  PACELINE_CHECK(false);
  return {};
}

int Cluster::devices() const {
  int total = 0;
  for (const NodeGroup& group : groups) total += group.devices();
  return total;
}

Cluster read_cluster(base::Fields fields) {
  Cluster cluster;
  if (fields.has("preset")) {
    for (const auto key : {"node", "groups"})
      if (fields.has(key))
        fields.fail(key, "stands beside 'preset'", "give preset, node or groups");
    cluster = read_preset(fields);
  } else {
    const SourceList sources;
    cluster.name = fields.text("name", "inline");
    cluster.summary = "described in the scenario";
    read_body(fields, sources, cluster);
  }
  fields.done();
  cluster.source = joined_sources(cluster.facts);
  return cluster;
}

Cluster read_cluster(const base::Document& document, const std::string& name) {
  base::Fields fields(document, document.root);
  Cluster cluster;
  cluster.name = name;
  cluster.summary = fields.text("summary");
  cluster.note = fields.text("note", "");
  read_body(fields, read_sources(fields), cluster);
  fields.done();
  cluster.source = joined_sources(cluster.facts);
  return cluster;
}

Cluster read_cluster(const std::string& preset, const std::string& where) {
  return read_cluster(base::read_document(spec_path("cluster", preset, where)), preset);
}

std::string describe(const Cluster& cluster) {
  std::string out = cluster.name + ": " + cluster.summary + "\n";
  if (!cluster.note.empty()) out += "  " + cluster.note + "\n";
  for (const NodeGroup& group : cluster.groups) out += describe_group(group);
  return out + facts_table(cluster.facts);
}

}  // namespace paceline::models

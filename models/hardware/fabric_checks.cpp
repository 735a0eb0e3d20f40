// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <set>

#include "models/hardware/fabric.hpp"

namespace paceline::models {
namespace {

using InnerGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// Live wires between vertices that pass messages on: all but devices.
InnerGraph inner_graph(const Fabric& fabric) {
  InnerGraph graph(fabric.vertices.size());
  const auto device = [&](int v) {
    return fabric.vertices[static_cast<std::size_t>(v)].kind == VertexKind::Device;
  };
  for (const Wire& wire : fabric.wires)
    if (wire.bandwidth.value > 0 && !device(wire.from) && !device(wire.to))
      boost::add_edge(static_cast<std::size_t>(wire.from), static_cast<std::size_t>(wire.to),
                      graph);
  return graph;
}

/// Where a device can enter and leave the rest: components of vertices that reach each other.
struct Doors {
  std::set<int> out, in;
  auto operator<=>(const Doors&) const = default;
};

std::vector<Doors> doors_of(const Fabric& fabric, const std::vector<int>& component) {
  std::vector<Doors> doors(fabric.vertices.size());
  for (const Wire& wire : fabric.wires) {
    if (!(wire.bandwidth.value > 0)) continue;
    const auto from = static_cast<std::size_t>(wire.from), to = static_cast<std::size_t>(wire.to);
    if (fabric.vertices[from].kind == VertexKind::Device) doors[from].out.insert(component[to]);
    if (fabric.vertices[to].kind == VertexKind::Device) doors[to].in.insert(component[from]);
  }
  return doors;
}

/// Components that can be reached from those of `start`, which are among them.
std::set<int> reached(const std::vector<std::set<int>>& next, const std::set<int>& start) {
  std::set<int> seen = start;
  std::vector<int> open(start.begin(), start.end());
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    for (const int to : next[at])
      if (seen.insert(to).second) open.push_back(to);
  }
  return seen;
}

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int c) { return b.contains(c); });
}

/// The component most devices can both enter and leave.
int busiest(const std::map<Doors, std::vector<int>>& alike, int components) {
  std::vector<int> uses(static_cast<std::size_t>(std::max(1, components)), 0);
  for (const auto& [doors, devices] : alike)
    for (const int component : doors.out)
      if (doors.in.contains(component)) ++uses[static_cast<std::size_t>(component)];
  return static_cast<int>(std::max_element(uses.begin(), uses.end()) - uses.begin());
}

}  // namespace

void apply_faults(Fabric& fabric, std::span<const WireFault> faults) {
  if (faults.empty()) return;
  std::map<std::string, const WireFault*> by_name;
  for (const WireFault& fault : faults) by_name[fault.wire] = &fault;
  for (Wire& wire : fabric.wires) {
    const auto at = by_name.find(wire.name);
    if (at == by_name.end()) continue;
    if (at->second->broken) wire.bandwidth = {};
    fabric.broken = fabric.broken || at->second->broken;
    if (!at->second->changes.empty()) wire.changes = at->second->changes;
  }
}

std::string unreachable_pair(const Fabric& fabric) {
  if (!fabric.broken) return "";  // every fabric joins all of its devices
  const InnerGraph graph = inner_graph(fabric);
  std::vector<int> component(boost::num_vertices(graph));
  const int count = boost::strong_components(
      graph,
      boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<std::set<int>> next(static_cast<std::size_t>(count));
  for (const Wire& wire : fabric.wires) {
    const int a = component[static_cast<std::size_t>(wire.from)];
    const int b = component[static_cast<std::size_t>(wire.to)];
    const bool inner =
        fabric.vertices[static_cast<std::size_t>(wire.from)].kind != VertexKind::Device &&
        fabric.vertices[static_cast<std::size_t>(wire.to)].kind != VertexKind::Device;
    if (inner && a != b && wire.bandwidth.value > 0) next[static_cast<std::size_t>(a)].insert(b);
  }
  // Devices with the same doors are alike: one of them, and a second for the way between two.
  const std::vector<Doors> doors = doors_of(fabric, component);
  std::map<Doors, std::vector<int>> alike;
  for (const int vertex : fabric.device_vertex) {
    if (vertex < 0) continue;
    std::vector<int>& group = alike[doors[static_cast<std::size_t>(vertex)]];
    if (group.size() < 2) group.push_back(vertex);
  }
  // Those that can enter and leave the network's main part reach each other.
  const int hub = busiest(alike, count);
  using Group = std::pair<const Doors*, const std::vector<int>*>;
  std::vector<Group> all, apart;
  for (const auto& [at, devices] : alike) {
    all.push_back({&at, &devices});
    if (!at.out.contains(hub) || !at.in.contains(hub)) apart.push_back(all.back());
  }
  const auto name = [&](int v) { return fabric.vertices[static_cast<std::size_t>(v)].name; };
  for (const auto& [from, senders] : all) {
    const bool main = from->out.contains(hub) && from->in.contains(hub);
    if (main && apart.empty()) continue;
    const std::set<int> seen = reached(next, from->out);
    for (const auto& [to, receivers] : main ? apart : all) {
      const int last = receivers->back();
      if (senders->front() == last || meet(seen, to->in)) continue;
      return "no way leads from device " + name(senders->front()) + " to device " + name(last);
    }
  }
  return "";
}

std::vector<std::string> ignored_by_engine(const Cluster& cluster, bool shared_links) {
  std::vector<std::string> ignored;
  if (shared_links) return ignored;
  const FabricSpec& spec = cluster.fabric;
  const bool changes = !spec.faults.empty() ||
                       std::any_of(spec.wan.begin(), spec.wan.end(),
                                   [](const WanLink& link) { return !link.changes.empty(); });
  if (changes)
    ignored.emplace_back(
        "changes and broken wires of cluster.fabric act only with --engine simgrid");
  const auto slow = [](const FabricSpec& f) { return f.switch_latency.value > 0; };
  if (slow(spec) || std::any_of(spec.sites.begin(), spec.sites.end(),
                                [&](const SiteSpec& site) { return slow(site.inside); }))
    ignored.emplace_back("switch_latency of cluster.fabric acts only with --engine simgrid");
  return ignored;
}

}  // namespace paceline::models

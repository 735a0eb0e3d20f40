// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric_builder.hpp"

#include <algorithm>
#include <numeric>

namespace paceline::models {
namespace {

/// Starts of the runs of equal keys in 0 … count - 1, for counting sort.
template <class Items, class Key>
std::vector<int> starts(std::size_t count, const Items& items, Key key) {
  std::vector<int> first(count + 1, 0);
  for (const auto& item : items) ++first[static_cast<std::size_t>(key(item)) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

void settle_uplinks(Fabric& fabric, const std::vector<std::pair<int, Uplink>>& hung) {
  const std::size_t count = fabric.vertices.size();
  fabric.uplink_first = starts(count, hung, [](const auto& h) { return h.first; });
  fabric.uplinks.resize(hung.size());
  std::vector<int> next = fabric.uplink_first;
  for (const auto& [vertex, uplink] : hung)
    fabric.uplinks[static_cast<std::size_t>(next[static_cast<std::size_t>(vertex)]++)] = uplink;
}

/// Tops and depths of all but devices, which have several uplinks and stay their own.
void settle_tops(Fabric& fabric) {
  const std::size_t count = fabric.vertices.size();
  fabric.top.resize(count);
  fabric.depth.resize(count);
  for (std::size_t v = 0; v < count; ++v) {
    int at = static_cast<int>(v), depth = 0;
    while (fabric.vertices[static_cast<std::size_t>(at)].kind != VertexKind::Device) {
      const auto uplinks = fabric.uplinks_of(at);
      if (uplinks.empty()) break;
      PACELINE_CHECK(uplinks.size() == 1);
      at = fabric.wires[static_cast<std::size_t>(uplinks[0].up)].to;
      ++depth;
    }
    fabric.top[v] = at;
    fabric.depth[v] = depth;
  }
}

}  // namespace

std::span<const Uplink> Fabric::uplinks_of(int vertex) const {
  const auto first = static_cast<std::size_t>(uplink_first[static_cast<std::size_t>(vertex)]);
  const auto last = static_cast<std::size_t>(uplink_first[static_cast<std::size_t>(vertex) + 1]);
  return std::span(uplinks).subspan(first, last - first);
}

std::span<const int> Fabric::wires_from(int vertex) const {
  const auto first = static_cast<std::size_t>(out_first[static_cast<std::size_t>(vertex)]);
  const auto last = static_cast<std::size_t>(out_first[static_cast<std::size_t>(vertex) + 1]);
  return std::span(out_wires).subspan(first, last - first);
}

int Fabric::network_top(int device) const {
  const int vertex = device_vertex[static_cast<std::size_t>(device)];
  const int nic = wires[static_cast<std::size_t>(uplinks_of(vertex).back().up)].to;
  return top[static_cast<std::size_t>(nic)];
}

int FabricBuilder::add_vertex(std::string name, VertexKind kind, int node, int device) {
  fabric.vertices.push_back({std::move(name), kind, node, device});
  return static_cast<int>(fabric.vertices.size()) - 1;
}

int FabricBuilder::add_wire(int from, int to, base::BytesPerSecond bandwidth,
                            base::Seconds latency) {
  const auto name = [&](int v) { return fabric.vertices[static_cast<std::size_t>(v)].name; };
  fabric.wires.push_back({name(from) + ">" + name(to), from, to, bandwidth, latency});
  return static_cast<int>(fabric.wires.size()) - 1;
}

Uplink FabricBuilder::join(int child, int parent, base::BytesPerSecond bandwidth,
                           base::Seconds latency) {
  const int up = add_wire(child, parent, bandwidth, latency);
  const int down = add_wire(parent, child, bandwidth);
  return {up, down};
}

Uplink FabricBuilder::hang(int child, int parent, base::BytesPerSecond bandwidth,
                           base::Seconds latency) {
  hung.push_back({child, join(child, parent, bandwidth, latency)});
  return hung.back().second;
}

Fabric FabricBuilder::finish() {
  settle_uplinks(fabric, hung);
  settle_tops(fabric);
  fabric.out_first =
      starts(fabric.vertices.size(), fabric.wires, [](const Wire& w) { return w.from; });
  fabric.out_wires.resize(fabric.wires.size());
  std::vector<int> next = fabric.out_first;
  for (std::size_t w = 0; w < fabric.wires.size(); ++w) {
    int& at = next[static_cast<std::size_t>(fabric.wires[w].from)];
    fabric.out_wires[static_cast<std::size_t>(at++)] = static_cast<int>(w);
  }
  return std::move(fabric);
}

base::BytesPerSecond nodes_rate(const Cluster& cluster, const FabricPart& part, int first,
                                int count) {
  base::BytesPerSecond total;
  const std::int64_t stop = std::int64_t{first} + count;
  const std::int64_t part_end = std::int64_t{part.first_node} + part.nodes;
  std::int64_t begin = 0;
  for (const NodeGroup& group : cluster.groups) {
    const std::int64_t group_end = begin + group.nodes;
    // The group of the part's last node stands for all slots beyond.
    const std::int64_t end = group_end >= part_end ? std::max(stop, group_end) : group_end;
    const std::int64_t here = std::min(end, stop) - std::max<std::int64_t>(begin, first);
    if (here > 0) total += group.network.rate() * group.ports_per_node * static_cast<double>(here);
    if (group_end >= part_end) break;
    begin = group_end;
  }
  return total;
}

}  // namespace paceline::models

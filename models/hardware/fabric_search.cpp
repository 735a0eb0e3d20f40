// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric_search.hpp"

#include <algorithm>

#include "models/hardware/ways.hpp"

namespace paceline::models {
namespace {

/// Wires that carry something now; other devices pass nothing on.
std::vector<Arc> live_arcs(const Fabric& fabric, int from) {
  std::vector<Arc> arcs;
  for (std::size_t w = 0; w < fabric.wires.size(); ++w) {
    const Wire& wire = fabric.wires[w];
    const bool device =
        fabric.vertices[static_cast<std::size_t>(wire.from)].kind == VertexKind::Device;
    if (!(wire.bandwidth.value > 0) || (device && wire.from != from)) continue;
    arcs.push_back({wire.from, wire.to, wire.latency.value, static_cast<int>(w)});
  }
  return arcs;
}

}  // namespace

std::vector<int> shortest_route(const Fabric& fabric, int from_vertex, int to_vertex) {
  const std::vector<int> last = last_arcs(static_cast<int>(fabric.vertices.size()),
                                          live_arcs(fabric, from_vertex), from_vertex);
  std::vector<int> route;
  for (int at = to_vertex; at != from_vertex;) {
    const int wire = last[static_cast<std::size_t>(at)];
    if (wire < 0) return {};
    route.push_back(wire);
    at = fabric.wires[static_cast<std::size_t>(wire)].from;
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace paceline::models

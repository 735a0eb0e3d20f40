// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric_search.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <limits>

namespace paceline::models {
namespace {

/// Fewer wires first, then less latency.
struct Way {
  int wires = 0;
  double latency = 0;
  auto operator<=>(const Way&) const = default;
};

struct Hop {
  Way way{1, 0};
  int wire = -1;
};

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Hop>;

constexpr Way kNoWay{std::numeric_limits<int>::max(), 0};

Way join(const Way& a, const Way& b) {
  if (a == kNoWay || b == kNoWay) return kNoWay;
  return {a.wires + b.wires, a.latency + b.latency};
}

struct LastWire : boost::dijkstra_visitor<> {
  std::vector<int>* last;
  explicit LastWire(std::vector<int>& l) : last(&l) {}
  template <class Edge>
  void edge_relaxed(Edge edge, const Graph& graph) {
    (*last)[boost::target(edge, graph)] = graph[edge].wire;
  }
};

/// Wires that carry something now; other devices pass nothing on.
Graph live_graph(const Fabric& fabric, int from) {
  Graph graph(fabric.vertices.size());
  for (std::size_t w = 0; w < fabric.wires.size(); ++w) {
    const Wire& wire = fabric.wires[w];
    const bool device =
        fabric.vertices[static_cast<std::size_t>(wire.from)].kind == VertexKind::Device;
    if (!(wire.bandwidth.value > 0) || (device && wire.from != from)) continue;
    boost::add_edge(static_cast<std::size_t>(wire.from), static_cast<std::size_t>(wire.to),
                    Hop{{1, wire.latency.value}, static_cast<int>(w)}, graph);
  }
  return graph;
}

}  // namespace

std::vector<int> shortest_route(const Fabric& fabric, int from_vertex, int to_vertex) {
  const Graph graph = live_graph(fabric, from_vertex);
  std::vector<int> last(boost::num_vertices(graph), -1);
  std::vector<Way> ways(boost::num_vertices(graph));
  boost::dijkstra_shortest_paths(graph, static_cast<std::size_t>(from_vertex),
                                 boost::weight_map(boost::get(&Hop::way, graph))
                                     .distance_map(boost::make_iterator_property_map(
                                         ways.begin(), boost::get(boost::vertex_index, graph)))
                                     .distance_compare(std::less<Way>())
                                     .distance_combine(&join)
                                     .distance_inf(kNoWay)
                                     .distance_zero(Way{})
                                     .visitor(LastWire(last)));
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

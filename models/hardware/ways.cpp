// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/ways.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <limits>

namespace paceline::models {
namespace {

struct Way {
  int arcs = 0;
  double latency = 0;
  auto operator<=>(const Way&) const = default;
};

struct Edge {
  Way way{1, 0};
  int id = -1;
};

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

constexpr Way kNoWay{std::numeric_limits<int>::max(), 0};

Way join(const Way& a, const Way& b) {
  if (a == kNoWay || b == kNoWay) return kNoWay;
  return {a.arcs + b.arcs, a.latency + b.latency};
}

/// Remembers the arc by which every point was last reached on a better way.
struct LastArc : boost::dijkstra_visitor<> {
  std::vector<int>* last;
  explicit LastArc(std::vector<int>& l) : last(&l) {}
  template <class E>
  void edge_relaxed(E edge, const Graph& graph) {
    (*last)[boost::target(edge, graph)] = graph[edge].id;
  }
};

}  // namespace

std::vector<int> last_arcs(int points, const std::vector<Arc>& arcs, int from) {
  Graph graph(static_cast<std::size_t>(points));
  for (const Arc& arc : arcs) {
    boost::add_edge(static_cast<std::size_t>(arc.from), static_cast<std::size_t>(arc.to),
                    Edge{{1, arc.latency}, arc.id}, graph);
  }
  std::vector<int> last(boost::num_vertices(graph), -1);
  std::vector<Way> ways(boost::num_vertices(graph));
  boost::dijkstra_shortest_paths(graph, static_cast<std::size_t>(from),
                                 boost::weight_map(boost::get(&Edge::way, graph))
                                     .distance_map(boost::make_iterator_property_map(
                                         ways.begin(), boost::get(boost::vertex_index, graph)))
                                     .distance_compare(std::less<Way>())
                                     .distance_combine(&join)
                                     .distance_inf(kNoWay)
                                     .distance_zero(Way{})
                                     .visitor(LastArc(last)));
  return last;
}

}  // namespace paceline::models

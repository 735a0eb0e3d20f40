// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <map>

#include "models/hardware/fabric.hpp"

namespace paceline::models {
namespace {

using Flow = std::int64_t;  // bytes a second; exact where sums of doubles are not

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::bidirectionalS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, Flow,
        boost::property<boost::edge_residual_capacity_t, Flow,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

/// Vertices of the flow graph: all of the lower half are its source, all of the upper its sink.
constexpr std::size_t kSource = 0, kSink = 1;

struct Parts {
  std::vector<std::size_t> of_vertex;
  std::size_t count = 2;
  bool by_node = true;
};

/// Halves by node, or by device when there is one node.
Parts parts_of(const Fabric& fabric) {
  Parts parts;
  std::vector<int> nodes, devices;
  for (const Vertex& vertex : fabric.vertices) {
    if (vertex.kind != VertexKind::Device) continue;
    if (nodes.empty() || nodes.back() != vertex.node) nodes.push_back(vertex.node);
    devices.push_back(vertex.device);
  }
  parts.by_node = nodes.size() > 1;
  const std::vector<int>& ends = parts.by_node ? nodes : devices;
  const int middle = ends[ends.size() / 2];
  for (const Vertex& vertex : fabric.vertices) {
    const int end = parts.by_node ? vertex.node : vertex.device;
    parts.of_vertex.push_back(end < 0 ? parts.count++ : end < middle ? kSource : kSink);
  }
  return parts;
}

void add_edge(FlowGraph& graph, std::size_t from, std::size_t to, Flow capacity) {
  const auto forward = boost::add_edge(from, to, graph).first;
  const auto backward = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, forward, capacity);
  boost::put(boost::edge_capacity, graph, backward, 0);
  boost::put(boost::edge_reverse, graph, forward, backward);
  boost::put(boost::edge_reverse, graph, backward, forward);
}

}  // namespace

base::BytesPerSecond bisection_bandwidth(const Fabric& fabric) {
  const Parts parts = parts_of(fabric);
  std::map<std::pair<std::size_t, std::size_t>, Flow> joined;
  const auto is_nic = [&](int v) {
    return fabric.vertices[static_cast<std::size_t>(v)].kind == VertexKind::Nic;
  };
  for (const Wire& wire : fabric.wires) {
    // Devices of one node do not go out and in again.
    if (!parts.by_node && (is_nic(wire.from) || is_nic(wire.to))) continue;
    const std::size_t from = parts.of_vertex[static_cast<std::size_t>(wire.from)];
    const std::size_t to = parts.of_vertex[static_cast<std::size_t>(wire.to)];
    if (from != to) joined[{from, to}] += std::llround(wire.bandwidth.value);
  }
  FlowGraph graph(parts.count);
  for (const auto& [ends, capacity] : joined) add_edge(graph, ends.first, ends.second, capacity);
  const Flow flow = boost::push_relabel_max_flow(graph, kSource, kSink);
  return base::BytesPerSecond(static_cast<double>(flow));
}

}  // namespace paceline::models

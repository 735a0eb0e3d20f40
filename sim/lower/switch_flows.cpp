// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/switch_flows.hpp"

#include <algorithm>
#include <set>

#include "sim/lower/rings.hpp"

namespace paceline::sim {
namespace {

using models::CollectiveAlgorithm;
using models::CollectiveOp;
using models::Fabric;

using Domains = std::vector<std::vector<int>>;

std::size_t smallest_of(const Domains& domains) {
  std::size_t smallest = domains.front().size();
  for (const std::vector<int>& domain : domains) smallest = std::min(smallest, domain.size());
  return smallest;
}

bool is_switch(const Fabric& fabric, int vertex) {
  const models::VertexKind kind = fabric.vertices[static_cast<std::size_t>(vertex)].kind;
  return kind == models::VertexKind::Switch || kind == models::VertexKind::Router;
}

/// Flows on the wires of a way before its first switch, between switches, and after the last.
struct Parts {
  std::uint32_t up = 1, between = 1, down = 1;
};

Parts parts_of(CollectiveOp op, std::size_t domains) {
  const auto others = static_cast<std::uint32_t>(domains - 1);
  if (op == CollectiveOp::AllGather) return {1, others, others};
  if (op == CollectiveOp::ReduceScatter) return {others, others, 1};
  return {};
}

void add_way(Load& load, std::set<int>& seen, const Fabric& fabric, const std::vector<int>& way,
             const Parts& parts, bool count) {
  const auto wire = [&](int w) { return fabric.wires[static_cast<std::size_t>(w)]; };
  std::size_t first = 0, last = way.size();
  while (first < way.size() && !is_switch(fabric, wire(way[first]).from)) ++first;
  while (last > first && !is_switch(fabric, wire(way[last - 1]).to)) --last;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (!seen.insert(way[i]).second || !count) continue;
    load[way[i]] += i < first ? parts.up : i < last ? parts.between : parts.down;
  }
}

/// The ways around the ring of its domains cover a tree: up to where neighbours meet, and down.
void add_trees(Load& load, const Fabric& fabric, const Domains& domains, CollectiveOp op,
               int only) {
  const Parts parts = parts_of(op, domains.size());
  for (std::size_t tree = 0; tree < smallest_of(domains); ++tree) {
    std::set<int> seen;
    for (std::size_t d = 0; d < domains.size(); ++d) {
      const int from = domains[d][tree], to = domains[(d + 1) % domains.size()][tree];
      add_way(load, seen, fabric, models::route(fabric, from, to), parts, only < 0 || only == from);
    }
  }
}

/// Between the members of a domain, in flows of switch_flow(): to the next and to the one before.
std::pair<std::uint32_t, std::uint32_t> inside_flows(CollectiveOp op, CollectiveAlgorithm algorithm,
                                                     std::size_t domains, std::size_t here) {
  const auto k = static_cast<std::uint32_t>(here);
  if (algorithm == CollectiveAlgorithm::Nvls) return {k + 1, 0};
  if (op == CollectiveOp::AllReduce) return {k - 1, k - 1};
  return {(k - 1) * static_cast<std::uint32_t>(domains), 0};
}

}  // namespace

double switch_flow(CollectiveOp op, double size, int domains, int per_domain) {
  return size / per_domain / (op == CollectiveOp::AllReduce ? 1 : domains);
}

Load switch_load(const Fabric& fabric, const models::Cluster& cluster,
                 const std::vector<int>& members, CollectiveOp op, CollectiveAlgorithm algorithm,
                 int only) {
  const Domains domains = by_domain(cluster, members);
  Load load;
  add_trees(load, fabric, domains, op, only);
  const auto add = [&](int from, int to, std::uint32_t flows) {
    if (flows == 0 || (only >= 0 && only != from)) return;
    for (const int wire : models::route(fabric, from, to)) load[wire] += flows;
  };
  for (const std::vector<int>& here : domains) {
    if (here.size() < 2) continue;
    const auto [next, back] = inside_flows(op, algorithm, domains.size(), here.size());
    for (std::size_t j = 0; j < here.size(); ++j) {
      const int neighbour = here[(j + 1) % here.size()];
      add(here[j], neighbour, next);
      add(neighbour, here[j], back);
    }
  }
  return load;
}

}  // namespace paceline::sim

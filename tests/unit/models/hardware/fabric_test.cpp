// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "models/hardware/placement.hpp"

using namespace paceline;
using models::Cluster;
using models::Fabric;

namespace {

Cluster read(const std::string& yaml) {
  const base::Document document = base::parse_yaml("cluster: " + yaml, "s.yaml");
  base::Fields fields(document, document.root);
  return models::read_cluster(fields.map("cluster"));
}

std::string names(const Fabric& f, int from, int to) {
  std::string out;
  for (const int w : models::route(f, from, to))
    out += (out.empty() ? "" : " ") + f.wires[static_cast<std::size_t>(w)].name;
  return out;
}

/// Every route is a chain of wires from one device to the other through no third device.
void check_routes(const Fabric& f) {
  const auto vertex = [&](int v) { return f.vertices[static_cast<std::size_t>(v)]; };
  for (std::size_t a = 0; a < f.device_vertex.size(); ++a) {
    for (std::size_t b = 0; b < f.device_vertex.size(); ++b) {
      if (f.device_vertex[a] < 0 || f.device_vertex[b] < 0) continue;
      int at = f.device_vertex[a];
      for (const int w : models::route(f, static_cast<int>(a), static_cast<int>(b))) {
        const models::Wire& wire = f.wires[static_cast<std::size_t>(w)];
        REQUIRE(wire.from == at);
        REQUIRE(wire.bandwidth.value > 0);
        at = wire.to;
        if (vertex(at).kind == models::VertexKind::Device) REQUIRE(at == f.device_vertex[b]);
      }
      REQUIRE(at == f.device_vertex[b]);
    }
  }
}

double latency_of(const Fabric& f, int from, int to) {
  double sum = 0;
  for (const int w : models::route(f, from, to))
    sum += f.wires[static_cast<std::size_t>(w)].latency.value;
  return sum;
}

}  // namespace

TEST_CASE("a message takes the innermost link both ends share, else the network", "[models]") {
  const Fabric f = models::make_fabric(read("{preset: frontier, nodes: 3}"));
  CHECK(names(f, 0, 0).empty());
  CHECK(names(f, 0, 1) == "n0.g0>n0.xgmi2.0 n0.xgmi2.0>n0.g1");
  CHECK(names(f, 1, 2) == "n0.g1>n0.xgmi n0.xgmi>n0.g2");
  CHECK(names(f, 1, 23) == "n0.g1>n0.nic0 n0.nic0>switch switch>n2.nic3 n2.nic3>n2.g7");
  check_routes(f);
}

TEST_CASE("ports are shared by neighbours or bundled for one device", "[models]") {
  const Cluster few = read("{preset: internevo-a100, nodes: 2}");
  const Fabric f = models::make_fabric(few);
  CHECK(names(f, 2, 8) == "n0.g2>n0.nic1 n0.nic1>switch switch>n1.nic0 n1.nic0>n1.g0");
  CHECK(names(f, 3, 8).starts_with("n0.g3>n0.nic1 "));
  const Cluster many = read("{preset: p5, nodes: 2}");  // 32 ports for 8 devices
  const Fabric g = models::make_fabric(many);
  const int wire = models::route(g, 0, 8)[1];
  CHECK(g.wires[static_cast<std::size_t>(wire)].bandwidth.value ==
        Approx(many.groups[0].network.rate().value * many.groups[0].ports_per_node / 8));
}

TEST_CASE("racks share one device switch over their nodes", "[models]") {
  const Fabric f = models::make_fabric(read("{preset: gb200-nvl72, nodes: 20}"));
  CHECK(names(f, 0, 71) == "n0.g0>rack0.nvswitch rack0.nvswitch>n17.g3");
  CHECK(models::route(f, 0, 72).size() == 4);
  check_routes(f);
}

TEST_CASE("nodes_per_switch and oversubscription make leaves with a trunk", "[models]") {
  const Cluster c = read("{preset: dgx-h100, nodes: 6, nodes_per_switch: 4, oversubscription: 2}");
  const Fabric f = models::make_fabric(c);
  CHECK(names(f, 0, 8) == "n0.g0>n0.nic0 n0.nic0>leaf0 leaf0>n1.nic0 n1.nic0>n1.g0");
  CHECK(names(f, 0, 32).find(" leaf0>spine spine>leaf1 ") != std::string::npos);
  for (const models::Wire& w : f.wires)
    if (w.name == "leaf0>spine" || w.name == "leaf1>spine")
      CHECK(w.bandwidth.value == Approx(c.groups[0].network.rate().value * 8 * 4 / 2));
  check_routes(f);
}

TEST_CASE("only the nodes used are built", "[models]") {
  const Cluster c = read("{preset: selene}");
  const std::vector<int> used{500, 3};
  const Fabric f = models::make_fabric(c, used);
  CHECK(f.vertices.size() == 2 * (8 + 1 + 8) + 1);
  CHECK(f.device_vertex[24] >= 0);
  CHECK(f.device_vertex[0] == -1);
  CHECK(models::route(f, 24, 4007).size() == 4);
}

TEST_CASE("every preset gives a fabric whose names are unique and whose latencies are the links'",
          "[models]") {
  for (const std::string& name : models::spec_names("cluster")) {
    INFO(name);
    Cluster c = models::read_cluster(name);
    std::vector<int> used{0};
    if (c.groups[0].nodes > 1) used.push_back(1);
    const Fabric f = models::make_fabric(c, used);
    check_routes(f);
    std::set<std::string> seen;
    for (const models::Vertex& v : f.vertices) CHECK(seen.insert(v.name).second);
    for (const models::Wire& w : f.wires) CHECK(seen.insert(w.name).second);
    const int devices = static_cast<int>(used.size()) * c.groups[0].devices_per_node;
    for (int to = 1; to < devices; ++to) {
      const models::GroupLayout pair = models::layout_of_pair(c, 0, to);
      const models::Link* link = pair.network ? pair.network : pair.common;
      CHECK(latency_of(f, 0, to) == Approx(link->latency.value));
    }
  }
}

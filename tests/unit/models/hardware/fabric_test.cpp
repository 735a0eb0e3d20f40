// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "models/hardware/placement.hpp"

using namespace paceline;
using models::Cluster;
using models::Fabric;

namespace {

Cluster read_fabric(const std::string& yaml) {
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
  std::vector<int> built;
  for (std::size_t d = 0; d < f.device_vertex.size(); ++d)
    if (f.device_vertex[d] >= 0) built.push_back(static_cast<int>(d));
  for (const int a : built) {
    for (const int b : built) {
      int at = f.device_vertex[static_cast<std::size_t>(a)];
      const int end = f.device_vertex[static_cast<std::size_t>(b)];
      for (const int w : models::route(f, a, b)) {
        const models::Wire& wire = f.wires[static_cast<std::size_t>(w)];
        REQUIRE(wire.from == at);
        REQUIRE(wire.bandwidth.value > 0);
        at = wire.to;
        if (vertex(at).kind == models::VertexKind::Device) REQUIRE(at == end);
      }
      REQUIRE(at == end);
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
  const Fabric f = models::make_fabric(read_fabric("{preset: lumi, nodes: 3}"));
  CHECK(names(f, 0, 0).empty());
  CHECK(names(f, 0, 1) == "n0.g0>n0.xgmi2.0 n0.xgmi2.0>n0.g1");
  CHECK(names(f, 1, 2) == "n0.g1>n0.xgmi n0.xgmi>n0.g2");
  CHECK(names(f, 1, 23) == "n0.g1>n0.nic0 n0.nic0>switch switch>n2.nic3 n2.nic3>n2.g7");
  check_routes(f);
}

TEST_CASE("ports are shared by neighbours or bundled for one device", "[models]") {
  const Cluster few = read_fabric("{preset: internevo-a100, nodes: 2}");
  const Fabric f = models::make_fabric(few);
  CHECK(names(f, 2, 8) == "n0.g2>n0.nic1 n0.nic1>switch switch>n1.nic0 n1.nic0>n1.g0");
  CHECK(names(f, 3, 8).starts_with("n0.g3>n0.nic1 "));
  const Cluster many = read_fabric("{preset: p5, nodes: 2}");  // 32 ports for 8 devices
  const Fabric g = models::make_fabric(many);
  const int wire = models::route(g, 0, 8)[1];
  CHECK(g.wires[static_cast<std::size_t>(wire)].bandwidth.value ==
        Approx(many.groups[0].network.rate().value * many.groups[0].ports_per_node / 8));
}

TEST_CASE("racks share one device switch over their nodes", "[models]") {
  const Fabric f = models::make_fabric(read_fabric("{preset: gb200-nvl72, nodes: 20}"));
  CHECK(names(f, 0, 71) == "n0.g0>rack0.nvswitch rack0.nvswitch>n17.g3");
  CHECK(models::route(f, 0, 72).size() == 4);
  check_routes(f);
}

TEST_CASE("nodes_per_switch and oversubscription make leaves with a trunk", "[models]") {
  const Cluster c =
      read_fabric("{preset: dgx-h100, nodes: 6, nodes_per_switch: 4, oversubscription: 2}");
  const Fabric f = models::make_fabric(c);
  CHECK(names(f, 0, 8) == "n0.g0>n0.nic0 n0.nic0>leaf0 leaf0>n1.nic0 n1.nic0>n1.g0");
  CHECK(names(f, 0, 32).find(" leaf0>spine spine>leaf1 ") != std::string::npos);
  for (const models::Wire& w : f.wires)
    if (w.name == "leaf0>spine" || w.name == "leaf1>spine")
      CHECK(w.bandwidth.value == Approx(c.groups[0].network.rate().value * 8 * 4 / 2));
  check_routes(f);
}

TEST_CASE("only the nodes used are built", "[models]") {
  const Cluster c = read_fabric("{preset: selene}");
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
      const bool tree = c.groups[0].pcie && to >= c.groups[0].devices_per_node / 2;
      CHECK(latency_of(f, 0, to) == Approx(link->latency.value * (tree ? 3 : 1)));
    }
  }
}

namespace {

const std::string kHalfRate =
    "node: {device: h100-sxm, devices: 2, link: nvlink4-nvswitch, network: {spec: ndr400, "
    "efficiency: 0.5}, ports: 2, host: intel}";

Cluster with(int nodes, const std::string& fabric) {
  return read_fabric("{" + kHalfRate + ", nodes: " + std::to_string(nodes) + ", fabric: " + fabric +
                     "}");
}

double rate(const Fabric& f, const std::string& wire) {
  for (const models::Wire& w : f.wires)
    if (w.name == wire) return w.bandwidth.value;
  return -1;
}

const std::string kSites =
    "{kind: sites, sites: [{name: a, nodes: 2, uplink: 1 GB/s}, {name: b, nodes: 1}, {name: c, "
    "nodes: 1}], links: [{between: [a, b], latency: 10 ms, bandwidth: 2 GB/s}, {from: b, to: c, "
    "latency: 20 ms, bandwidth: 500 MB/s}, {from: c, to: b, latency: 25 ms, bandwidth: 400 MB/s, "
    "cap_per_flow: 10 MB/s, changes: [{at: 10 s, bandwidth: 1 Gb/s}, {at: 20 s, bandwidth: 0 "
    "B/s}]}]}";

}  // namespace

TEST_CASE("rails: a port keeps to its rail, other rails are behind the spine", "[models]") {
  const Fabric f = models::make_fabric(
      with(5, "{kind: rail-optimised, nodes_per_group: 2, oversubscription: 4}"));
  CHECK(names(f, 1, 3) == "n0.g1>n0.nic1 n0.nic1>group0.rail1 group0.rail1>n1.nic1 n1.nic1>n1.g1");
  CHECK(names(f, 0, 3) ==
        "n0.g0>n0.nic0 n0.nic0>group0.rail0 group0.rail0>spine spine>group0.rail1 "
        "group0.rail1>n1.nic1 n1.nic1>n1.g1");
  CHECK(rate(f, "group0.rail0>spine") == Approx(2 * 25e9 / 4));
  check_routes(f);
  // Two groups of two nodes and half a third: two rails a group cross the middle of the five nodes.
  CHECK(models::bisection_bandwidth(f).value == Approx(2 * 2 * 25e9 / 4));
}

TEST_CASE("leaf and spine: flows spread over the spines, a flow keeps to one", "[models]") {
  const Cluster c = with(8, "{kind: leaf-spine, nodes_per_leaf: 2, spines: 4, uplink: 100 Gb/s}");
  CHECK(c.nodes_per_switch == 2);
  CHECK(c.oversubscription == Approx(2 * 2 * 400.0 / (4 * 100)));
  const Fabric f = models::make_fabric(c);
  CHECK(rate(f, "leaf1>spine2") == Approx(0.5 * 100e9 / 8));  // the network's efficiency
  check_routes(f);
  std::set<std::string> spines;
  for (int to = 4; to < 16; ++to) {
    const std::string way = names(f, 0, to);
    CHECK(way == names(f, 0, to));
    spines.insert(way.substr(way.find("leaf0>"), 12));
  }
  CHECK(spines.size() > 1);
}

TEST_CASE("dragonfly: at most one wire in a group, one between groups, one in the last",
          "[models]") {
  const Cluster c = with(32,
                         "{kind: dragonfly, groups: 4, routers_per_group: 4, nodes_per_router: 2, "
                         "links_per_pair: 2, local: 200 Gb/s, global: 100 Gb/s}");
  const Fabric f = models::make_fabric(c);
  check_routes(f);
  for (int to = 2; to < 64; ++to) CHECK(models::route(f, 0, to).size() <= 4 + 3);
  CHECK(names(f, 0, 2) ==
        "n0.g0>n0.nic0 n0.nic0>group0.router0 group0.router0>n1.nic0 "
        "n1.nic0>n1.g0");
  CHECK(models::route(f, 0, 4).size() == 5);
  // Two groups a side, two links of 6.25 GB/s a pair of groups.
  CHECK(models::bisection_bandwidth(f).value == Approx(2 * 2 * 2 * 6.25e9));
  const std::vector<int> some{1, 29, 17};
  check_routes(models::make_fabric(c, some));
}

TEST_CASE("torus: dimension by dimension, the shorter way round", "[models]") {
  const Cluster c = with(30, "{kind: torus, x: 5, y: 3, z: 2, link: 50 GB/s}");
  const Fabric f = models::make_fabric(c);
  check_routes(f);
  CHECK(names(f, 0, 8).find(" router0.0.0>router4.0.0 router4.0.0>n4.nic0 ") != std::string::npos);
  CHECK(models::route(f, 0, 2 * (2 + 5 * 1 + 15 * 1)).size() == 4 + 2 + 1 + 1);
  CHECK(names(f, 0, 2 * 21).find("router1.0.0>router1.1.0 router1.1.0>router1.1.1") !=
        std::string::npos);
  const std::vector<int> line{5, 7, 9};  // one ring is all that is built
  const Fabric ring = models::make_fabric(c, line);
  check_routes(ring);
  CHECK(ring.vertices.size() == 3 * (2 + 1 + 2) + 5);
}

TEST_CASE("sites: uplinks are shared, ways lead over other sites, directions differ", "[models]") {
  const Cluster c = with(4, kSites);
  const Fabric f = models::make_fabric(c);
  check_routes(f);
  CHECK(names(f, 0, 2) == "n0.g0>n0.nic0 n0.nic0>a/switch a/switch>n1.nic0 n1.nic0>n1.g0");
  CHECK(names(f, 0, 6) ==
        "n0.g0>n0.nic0 n0.nic0>a/switch a/switch>a a>b b>c c>c/switch c/switch>n3.nic0 "
        "n3.nic0>n3.g0");
  CHECK(rate(f, "a/switch>a") == 1e9);
  CHECK(rate(f, "b>c") == 500e6);
  CHECK(rate(f, "c>b") == 400e6);
  CHECK(latency_of(f, 0, 6) == Approx(0.03 - 5e-6));  // each link has the hop of a site in it
  for (const models::Wire& w : f.wires) {
    if (w.name != "c>b") continue;
    REQUIRE(w.changes.size() == 2);
    CHECK(w.changes[0].at.value == 10);
    CHECK(w.changes[0].bandwidth.value == 125e6);
    CHECK(w.changes[1].bandwidth.value == 0);
    CHECK(w.cap_per_flow == 10e6);
  }
  CHECK(c.fabric.pairs[0 * 3 + 2].link.latency.value == Approx(0.03 - 5e-6));
  CHECK(c.fabric.pairs[0 * 3 + 2].link.bandwidth.value == 500e6);
  CHECK(c.fabric.pairs[2 * 3 + 0].cap_per_flow == 10e6);
}

TEST_CASE("zones join the sites that lie in them", "[models]") {
  const Cluster c =
      with(4,
           "{kind: sites, sites: [{name: a, nodes: 1, in: eu, uplink: 1 GB/s}, {name: b, nodes: 1, "
           "in: eu, uplink: 2 GB/s}, {name: c, nodes: 2, in: us}], zones: [{name: eu, in: all, "
           "uplink: 3 GB/s, uplink_latency: 40 ms}, {name: us, in: all, uplink_latency: 30 ms}, "
           "{name: all}]}");
  const Fabric f = models::make_fabric(c);
  check_routes(f);
  CHECK(names(f, 0, 2).find("a/switch>a a>eu eu>b b>b/switch") != std::string::npos);
  CHECK(names(f, 0, 4).find("a>eu eu>all all>us us>c") != std::string::npos);
  CHECK(latency_of(f, 0, 4) == Approx(0.07 + 5e-6));
}

TEST_CASE("a tree of PCI Express: root ports are shared, ports are reached through it",
          "[models]") {
  const Fabric f = models::make_fabric(read_fabric("{preset: t4-8-dual-root, nodes: 2}"));
  check_routes(f);
  CHECK(names(f, 0, 3) == "n0.g0>n0.pcie0 n0.pcie0>n0.g3");
  CHECK(names(f, 1, 6) ==
        "n0.g1>n0.pcie0 n0.pcie0>n0.bridge0 n0.bridge0>n0.sockets n0.sockets>n0.bridge1 "
        "n0.bridge1>n0.pcie1 n0.pcie1>n0.g6");
  CHECK(names(f, 5, 8) ==
        "n0.g5>n0.pcie1 n0.pcie1>n0.bridge1 n0.bridge1>n0.sockets n0.sockets>n0.bridge0 "
        "n0.bridge0>n0.pcie0 n0.pcie0>n0.nic0 n0.nic0>switch switch>n1.nic0 n1.nic0>n1.pcie0 "
        "n1.pcie0>n1.g0");
}

TEST_CASE("broken wires are gone round, and told when nothing is left", "[models]") {
  const std::string torus = "{kind: torus, x: 4, link: 50 GB/s, wires: [{wire: ";
  const Fabric f =
      models::make_fabric(with(4, torus + "'router0.0.0>router1.0.0', broken: true}]}"));
  check_routes(f);
  CHECK(names(f, 0, 2).find("router0.0.0>router3.0.0 router3.0.0>router2.0.0 "
                            "router2.0.0>router1.0.0") != std::string::npos);
  CHECK(names(f, 2, 0).find("router1.0.0>router0.0.0") != std::string::npos);

  Fabric cut = models::make_fabric(with(3, "switch"));
  CHECK(models::unreachable_pair(cut).empty());
  const std::vector<models::WireFault> dead{{"n1.nic1>switch", true, {}}};
  models::apply_faults(cut, dead);
  CHECK(models::unreachable_pair(cut) == "no way leads from device n1.g1 to device n0.g1");
  CHECK_THROWS_WITH(models::route(cut, 3, 4), "no way leads from device n1.g1 to device n2.g0");
  CHECK(models::route(cut, 3, 2).size() == 2);  // inside the node
}

TEST_CASE("the bisection of a fat tree is its trunks, of one node its switch", "[models]") {
  const Fabric f =
      models::make_fabric(with(8, "{kind: fat-tree, nodes_per_leaf: 4, oversubscription: 2}"));
  CHECK(models::bisection_bandwidth(f).value == Approx(4 * 2 * 25e9 / 2));
  const Cluster one = read_fabric("{preset: dgx-h100}");
  CHECK(models::bisection_bandwidth(models::make_fabric(one)).value ==
        Approx(4 * one.groups[0].levels[0].link.rate().value));
}

TEST_CASE("routes over 1024 nodes are found one by one", "[models]") {
  const Fabric f = models::make_fabric(read_fabric("{preset: frontier, nodes: 1024}"));
  std::size_t wires = 0;
  constexpr int kRoutes = 100'000;  // 0.3 to 0.7 us each; a search of the graph would take minutes
  for (int i = 0; i < kRoutes; ++i)
    wires += models::route(f, i % 8192, (i * 37 + 11) % 8192).size();
  CHECK(wires > kRoutes);
}

TEST_CASE("the text for Graphviz has every edge between declared boxes, however large",
          "[models]") {
  for (const std::string& name : models::spec_names("cluster")) {
    INFO(name);
    const Cluster c = models::read_cluster(name);
    if (c.devices() > 30'000) continue;
    const std::string dot = models::to_dot(models::make_fabric(c));
    CHECK(dot.starts_with("digraph fabric {\n"));
    CHECK(dot.ends_with("}\n"));
    CHECK(dot.size() < 400'000);
    std::set<std::string> boxes;
    std::istringstream lines(dot);
    for (std::string line; std::getline(lines, line);) {
      CHECK(std::count(line.begin(), line.end(), '"') % 2 == 0);
      if (!line.starts_with("  \"")) continue;
      const std::string from = line.substr(3, line.find('"', 3) - 3);
      const auto arrow = line.find("\" -> \"");
      if (arrow == std::string::npos) {
        CHECK(boxes.insert(from).second);
        continue;
      }
      const std::string to = line.substr(arrow + 6, line.find('"', arrow + 6) - arrow - 6);
      CHECK(boxes.contains(from));
      CHECK(boxes.contains(to));
    }
  }
}

TEST_CASE("presets of networks", "[models]") {
  const Cluster wan = models::read_cluster("wan-12-sites");
  CHECK(wan.fabric.wan.size() == 132);
  const Fabric f = models::make_fabric(wan);
  CHECK(rate(f, "Iowa>Oregon") == Approx(0.0903 * 1024 * 1024 * 1024));
  CHECK(rate(f, "Oregon>Iowa") == rate(f, "Iowa>Oregon"));
  CHECK(rate(f, "London>Netherlands") == Approx(0.0002 * 1024 * 1024 * 1024));
  // 37 groups a side, 4 links of 25 GB/s a pair: 137 TB/s raw, half of the 270 TB/s published
  // for both directions.
  const Cluster frontier = models::read_cluster("frontier");
  CHECK(frontier.fabric.groups == 74);
  CHECK(models::read_cluster("dgx-h100-superpod").fabric.kind == "rail-optimised");
  CHECK(models::read_cluster("meta-grand-teton-pods").oversubscription == 7);
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "models/hardware/fabric.hpp"
#include "models/hardware/placement.hpp"

using namespace paceline;
using models::Axis;
using models::Cluster;
using models::GroupLayout;

namespace {

/// Three sites of 2, 1 and 1 nodes of 4 devices: 0-7, 8-11, 12-15.
Cluster three_sites() {
  const base::Document document = base::parse_yaml(
      "cluster: {node: {device: h100-sxm, devices: 4, link: nvlink4-nvswitch, network: ndr400, "
      "ports: 4, host: intel}, nodes: 4, fabric: {kind: sites, sites: [{name: a, nodes: 2}, "
      "{name: b, nodes: 1}, {name: c, nodes: 1}], links: [{between: [a, b], latency: 10 ms, "
      "bandwidth: 2 GB/s}, {between: [a, c], latency: 30 ms, bandwidth: 3 GB/s}, {from: b, to: c, "
      "latency: 20 ms, bandwidth: 500 MB/s}, {from: c, to: b, latency: 25 ms, bandwidth: 4 GB/s, "
      "cap_per_flow: 100 MB/s}]}}",
      "s.yaml");
  base::Fields fields(document, document.root);
  return models::read_cluster(fields.map("cluster"));
}

}  // namespace

TEST_CASE("a group inside a site is as without sites", "[models]") {
  const Cluster c = three_sites();
  Cluster plain = c;
  plain.fabric = {};
  const GroupLayout a = models::layout_of(c, 0, 1, 8), b = models::layout_of(plain, 0, 1, 8);
  CHECK(a.sites == 1);
  CHECK(a.domains == b.domains);
  CHECK(a.network->name == b.network->name);
  CHECK(a.node_rate() == b.node_rate());
}

TEST_CASE("a group over sites is held up by the slowest way on the ring of its sites", "[models]") {
  const Cluster c = three_sites();
  const GroupLayout g = models::layout_of(c, 0, 1, 16);
  CHECK(g.sites == 3);
  CHECK(g.domains == 3);
  CHECK(g.ranks_per_domain == 8);
  CHECK(g.network->name == "b>c");
  CHECK(g.network->kind == models::LinkKind::Wan);
  CHECK(g.network->latency.value == Approx(0.02));
  CHECK(g.node_rate().value == Approx(500e6));
  CHECK(g.ports_per_domain() == 1);
  // Sites a and b alone: the ring of two goes forth and back over the same pair.
  CHECK(models::layout_of(c, 4, 1, 8).network->name == "a>b");
}

TEST_CASE("sibling groups share the way between sites, a cap holds for each", "[models]") {
  const Cluster c = three_sites();
  const GroupLayout strided = models::layout_of(c, 3, 4, 4);  // one device a node
  CHECK(strided.sites == 3);
  CHECK(strided.network->name == "b>c");
  CHECK(strided.node_rate().value == Approx(500e6 / 4));
  const GroupLayout back = models::layout_of_pair(c, 12, 8);
  CHECK(back.network->name == "c>b");
  CHECK(back.node_rate().value == Approx(100e6));  // the cap, below 4 GB/s over 4
  CHECK(models::layout_of_pair(c, 8, 12).network->name == "b>c");
  const std::array<Axis, 2> axes{Axis{1, 2}, Axis{8, 2}};
  CHECK(models::layout_of(c, 0, axes).network->name == "a>b");
}

TEST_CASE("the closed form's latency between sites is that of the route", "[models]") {
  const Cluster c = three_sites();
  const models::Fabric f = models::make_fabric(c);
  for (const int to : {8, 12}) {
    double sum = 0, slowest = 1e18;
    for (const int w : models::route(f, 0, to)) {
      const models::Wire& wire = f.wires[static_cast<std::size_t>(w)];
      sum += wire.latency.value;
      slowest = std::min(slowest, wire.bandwidth.value);
    }
    const GroupLayout pair = models::layout_of_pair(c, 0, to);
    CHECK(sum == Approx(pair.network->latency.value));
    CHECK(slowest == Approx(pair.network->rate().value));
  }
}

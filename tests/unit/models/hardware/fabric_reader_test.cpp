// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/hardware/fabric.hpp"

using namespace paceline;

namespace {

const std::string kTwoDevices =
    "node: {device: h100-sxm, devices: 2, link: nvlink4-nvswitch, network: ndr400, ports: 2, host: "
    "intel}, nodes: 4, ";

std::string fabric_error(const std::string& cluster) {
  const base::Document document = base::parse_yaml("cluster: {" + cluster + "}", "s.yaml");
  base::Fields fields(document, document.root);
  try {
    models::read_cluster(fields.map("cluster"));
  } catch (const base::Error& e) {
    return e.what();
  }
  return "no error";
}

void check_fabric_error(const std::string& fabric, const std::string& expected) {
  const std::string error = fabric_error(kTwoDevices + "fabric: " + fabric);
  INFO(fabric << "\n" << error);
  CHECK(error.find(expected) != std::string::npos);
  if (expected == "no error") return;
  CHECK(error.find("s.yaml:1:") == 0);
  CHECK(error.find('\n') == std::string::npos);
}

void check_sites(const std::string& links, const std::string& expected) {
  check_fabric_error(
      "{kind: sites, sites: [{name: a, nodes: 2}, {name: b, nodes: 1}, {name: c, nodes: "
      "1}], links: [" +
          links + "]}",
      expected);
}

void check_places(const std::string& places, const std::string& expected) {
  check_fabric_error(
      "{kind: sites, " + places + ", links: [{between: [a, b], latency: 1 ms, bandwidth: 1 GB/s}]}",
      expected);
}

const std::string kAb = "{between: [a, b], latency: 1 ms, bandwidth: 1 GB/s}, ";
const std::string kBc = "{between: [b, c], latency: 1 ms, bandwidth: 1 GB/s}";

}  // namespace

TEST_CASE("what is wrong with a network is said where it stands", "[models]") {
  check_fabric_error("ring", "fabric: ");
  check_fabric_error("{kind: fat-three, nodes_per_leaf: 2}", "did you mean 'fat-tree'");
  check_fabric_error("{kind: fat-tree}", "fabric.nodes_per_leaf: ");
  check_fabric_error("{kind: fat-tree, nodes_per_leaf: 0}", "nodes_per_leaf");
  check_fabric_error("{kind: fat-tree, nodes_per_leaf: 5}", "5 nodes, more than the 4 there are");
  check_fabric_error("{kind: fat-tree, nodes_per_leaf: 2, oversubscription: 0.5}",
                     "oversubscription");
  check_fabric_error("{kind: fat-tree, nodes_per_leaf: 2, spine: 2}", "unknown key");
  check_fabric_error("{kind: rail-optimised, nodes_per_group: 8}", "more than the 4 there are");
  check_fabric_error("{kind: leaf-spine, nodes_per_leaf: 2, spines: 2, uplink: 0 Gb/s}",
                     "fabric.uplink: must be above 0");
  check_fabric_error("{kind: leaf-spine, nodes_per_leaf: 2, spines: 2, uplink: -1 Gb/s}", "uplink");
  check_fabric_error("{kind: leaf-spine, nodes_per_leaf: 2, spines: 2, uplink: 1e9 Tb/s}",
                     "at most 1000 TB/s");
  check_fabric_error("{kind: leaf-spine, nodes_per_leaf: 2, spines: 0, uplink: 1 Gb/s}", "spines");
  check_fabric_error(
      "{kind: dragonfly, groups: 1, routers_per_group: 1, nodes_per_router: 1, "
      "links_per_pair: 1, local: 1 GB/s, global: 1 GB/s}",
      "4 nodes, but the dragonfly has places for 1");
  check_fabric_error("{kind: torus, x: 3, link: 1 GB/s}",
                     "4 nodes, but the torus has places for 3");
  check_fabric_error(
      "{kind: dragonfly, groups: 4096, routers_per_group: 1, nodes_per_router: 1, "
      "links_per_pair: 1024, local: 1 GB/s, global: 1 GB/s}",
      "more than 2^21 wires");
  check_fabric_error("{kind: torus, x: 4096, y: 4096, link: 1 GB/s}", "more than 2^21 wires");
  check_fabric_error("{kind: torus, x: 4, link: 1 GB/s, switch_latency: 2 min}",
                     "between 0 and 60 s");
  CHECK(fabric_error(kTwoDevices + "nodes_per_switch: 2, fabric: switch")
            .find("stands beside 'fabric'") != std::string::npos);
  CHECK(fabric_error("node: {device: h100-sxm, devices: 1, host: intel}, nodes: 1, fabric: switch")
            .find("no network") != std::string::npos);
  CHECK(fabric_error("preset: dgx-h100, nodes: 200000, fabric: switch").find("2^20") !=
        std::string::npos);
  CHECK(fabric_error("preset: torus-4x4x4, nodes: 65").find("places for 64") != std::string::npos);
  CHECK(fabric_error("preset: frontier, oversubscription: 2").find("states its fabric") !=
        std::string::npos);
}

TEST_CASE("what is wrong with sites is said where it stands", "[models]") {
  check_sites(kAb + kBc, "no error");
  check_sites(kAb.substr(0, kAb.size() - 2), "no way leads from site 'a' to site 'c'");
  check_sites(kAb + "{from: b, to: c, latency: 1 ms, bandwidth: 1 GB/s}",
              "no way leads from site 'c' to site 'a'");
  check_sites(kAb + "{between: [b, c], latency: 1 ms, bandwidth: 1 GB/s, broken: true}",
              "no way leads from site 'a' to site 'c'");
  check_sites(kAb + "{between: [b, d], latency: 1 ms, bandwidth: 1 GB/s}", "unknown site 'd'");
  check_sites(kAb + "{between: [b, b], latency: 1 ms, bandwidth: 1 GB/s}", "'b' to itself");
  check_sites(kAb + kBc + ", " + kBc, "a second link from 'b' to 'c'");
  check_sites(kAb + "{between: [b, c], latency: 1 ms, bandwidth: 0 GB/s}", "must be above 0");
  check_sites(kAb + "{between: [b, c], latency: -1 ms, bandwidth: 1 GB/s}", "latency");
  check_sites(kAb + "{between: [b, c], latency: 1 ms}", "bandwidth");
  check_sites(kAb + "{between: [b, c], from: b, latency: 1 ms, bandwidth: 1 GB/s}",
              "stands beside");
  check_sites(kAb + "{latency: 1 ms, bandwidth: 1 GB/s}", "between: [A, B]");
  check_sites(kAb +
                  "{between: [b, c], latency: 1 ms, bandwidth: 1 GB/s, changes: [{at: 10 s, "
                  "bandwidth: 1 GB/s}, {at: 5 s, bandwidth: 2 GB/s}]}",
              "not after the change before it");
  check_sites(kAb + "{between: [b, c], latency: 1 ms, bandwidth: 1 GB/s, cap_per_flow: 0 GB/s}",
              "must be above 0");
  check_places("sites: [{name: a, nodes: 2}, {name: a, nodes: 2}]", "'a' stands twice");
  check_places("sites: [{name: a, nodes: 2}, {name: b, nodes: 1}]",
               "4 nodes, but the sites have 3 together");
  check_places("sites: [{name: a, nodes: 5}, {name: b, nodes: 1}]", "more than the 4 there are");
  check_places("sites: [{name: a.b, nodes: 2}, {name: b, nodes: 2}]", "no name of a site");
  check_places("sites: [{name: a, nodes: 4}]", "must be 2 to 128 sites");
  check_places("sites: [{name: a, nodes: 2}, {name: b, nodes: 2, in: eu}]",
               "unknown zone 'eu'; none is defined");
  check_places(
      "sites: [{name: a, nodes: 2}, {name: b, nodes: 2, in: x}], zones: [{name: x, in: "
      "y}, {name: y, in: x}]",
      "zone 'b' lies in itself");
  check_places(
      "sites: [{name: a, nodes: 2}, {name: b, nodes: 2, inside: {kind: torus, x: 2, "
      "link: 1 GB/s}}]",
      "kind");
}

TEST_CASE("stated wires must exist and leave every device a way", "[models]") {
  const std::string tree = "{kind: fat-tree, nodes_per_leaf: 2, wires: [{wire: ";
  check_fabric_error(tree + "'leaf0>spime', broken: true}]}", "did you mean 'leaf0>spine'");
  check_fabric_error(tree + "'leaf0>spine', broken: true}]}", "no way leads from device n0.g");
  check_fabric_error(tree + "'leaf0>spine'}]}", "say broken: true or give changes");
  check_fabric_error(tree + "'leaf0>spine', changes: [{at: 1 s, bandwidth: 0 B/s}]}]}", "no error");
  check_fabric_error(tree +
                         "'leaf0>spine', changes: [{at: 1 s, bandwidth: 0 B/s}]}, {wire: "
                         "'leaf0>spine', broken: true}]}",
                     "stands twice");
}

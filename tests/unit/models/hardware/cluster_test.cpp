// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/hardware/device.hpp"

using namespace paceline;

namespace {

models::Cluster read(const std::string& yaml) {
  const base::Document document = base::parse_yaml("cluster: " + yaml, "s.yaml");
  base::Fields fields(document, document.root);
  return models::read_cluster(fields.map("cluster"));
}

std::string error_of(const std::string& yaml) {
  try {
    read(yaml);
  } catch (const base::Error& e) {
    return e.what();
  }
  return "no error";
}

void check_error(const std::string& yaml, const std::string& expected) {
  INFO(yaml << "\n" << error_of(yaml));
  CHECK(error_of(yaml).find(expected) != std::string::npos);
  CHECK(error_of(yaml).find("s.yaml:1:") == 0);
  CHECK(error_of(yaml).find('\n') == std::string::npos);
}

const std::string kNode =
    "device: h100-sxm, devices: 8, link: nvlink4-nvswitch, network: ndr400, ports: 8, host: intel";

}  // namespace

TEST_CASE("a preset with a number of nodes", "[models]") {
  const models::Cluster c = read("{preset: dgx-h100, nodes: 8}");
  CHECK(c.name == "dgx-h100");
  REQUIRE(c.groups.size() == 1);
  CHECK(c.devices() == 64);
  CHECK(c.groups[0].device.name == "h100-sxm");
  CHECK(c.groups[0].ports_per_node == 8);
  CHECK(c.groups[0].network.name == "ndr400");
  CHECK(c.groups[0].host == "intel");
  CHECK(read("{preset: selene}").groups[0].nodes == 560);
}

TEST_CASE("a preset with other parts in place of its own", "[models]") {
  const models::Cluster c = read(
      "{preset: dgx-a100, nodes: 4, device: a100-40gb-sxm, network: hdr200, ports: 4, "
      "efficiency: 0.8, oversubscription: 2, host: intel}");
  const models::NodeGroup& g = c.groups[0];
  CHECK(g.device.name == "a100-40gb-sxm");
  CHECK(g.ports_per_node == 4);
  CHECK(g.network.efficiency == 0.8);
  CHECK(g.network.bandwidth.value == 25e9);
  CHECK(g.host == "intel");
  CHECK(c.oversubscription == 2);
  // The changed number names the scenario as its source.
  bool found = false;
  for (const auto& fact : c.facts)
    if (fact.key == "node.ports") {
      found = true;
      CHECK(fact.value == "4");
      CHECK(fact.source.find("s.yaml:1:") == 0);
    }
  CHECK(found);
}

TEST_CASE("a network stated by its numbers, over the preset's or over a spec", "[models]") {
  const auto over_preset = read("{preset: dgx-a100, network: {latency: 20 us}}").groups[0].network;
  CHECK(over_preset.latency.value == Approx(20e-6));
  CHECK(over_preset.bandwidth.value == 25e9);
  CHECK(over_preset.kind == models::LinkKind::Infiniband);
  const auto over_spec =
      read("{preset: dgx-a100, network: {spec: roce-200, efficiency: 0.8}}").groups[0].network;
  CHECK(over_spec.kind == models::LinkKind::Roce);
  CHECK(over_spec.efficiency == 0.8);
  const auto own = read(
      "{node: {device: h100-sxm, devices: 8, host: amd, link: {kind: nvlink, bandwidth: "
      "100 GB/s, latency: 2 us}, network: {kind: roce, bandwidth: 25 GB/s, latency: 5 "
      "us}, ports: 2}, nodes: 3}");
  CHECK(own.groups[0].network.bandwidth.value == 25e9);
  CHECK(own.groups[0].levels[0].link.bandwidth.value == 100e9);
  CHECK(own.groups[0].levels[0].size == 8);
  CHECK(own.name == "inline");
  const std::string text = describe(own);
  for (const char* part : {"node.network.bandwidth  25 GB/s", "node.link.latency       2 us",
                           "3 nodes of 8 x h100-sxm, inline joins 8, network 2 x inline, host amd"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("fewer devices a node shrink the levels with it", "[models]") {
  const auto two = read("{preset: dgx-h100, devices: 2}").groups[0];
  CHECK(two.devices_per_node == 2);
  REQUIRE(two.levels.size() == 1);
  CHECK(two.levels[0].size == 2);
  const auto pairs = read("{preset: rtx-3090-8, devices: 2}").groups[0];
  REQUIRE(pairs.levels.size() == 1);
  CHECK(pairs.levels[0].link.name == "nvlink3-ga102-bridge");
  const auto rack = read("{preset: gb200-nvl72, devices: 2}").groups[0];
  CHECK(rack.levels.back().size == 36);
  CHECK(read("{preset: dgx-h100, devices: 1}").groups[0].levels.empty());
}

TEST_CASE("nodes of several kinds", "[models]") {
  const models::Cluster c =
      read("{groups: [{preset: dgx-a100, nodes: 2}, {node: {" + kNode + "}, nodes: 3}]}");
  REQUIRE(c.groups.size() == 2);
  CHECK(c.devices() == 40);
  CHECK(c.groups[0].device.name == "a100-80gb-sxm");
  CHECK(c.groups[1].nodes == 3);
  CHECK(describe(c).find("2 nodes of 8 x a100-80gb-sxm") != std::string::npos);
}

TEST_CASE("levels from the innermost to the outermost", "[models]") {
  const auto g = read(
                     "{node: {device: rtx-3090, devices: 4, host: amd, levels: [{devices: 2, link: "
                     "nvlink3-ga102-bridge}, {devices: 4, link: pcie4-x16}]}, nodes: 1}")
                     .groups[0];
  REQUIRE(g.levels.size() == 2);
  CHECK(g.levels[0].size == 2);
  CHECK(g.levels[1].link.kind == models::LinkKind::Pcie);
  CHECK(g.ports_per_node == 0);
}

TEST_CASE("bad clusters are refused with the place and the remedy", "[models]") {
  check_error("{preset: dgx-h10, nodes: 8}", "did you mean 'dgx-h100'?");
  check_error("{preset: dgx-h100, nods: 8}", "nods");
  check_error("{preset: dgx-h100, nodes: 0}", "nodes");
  check_error("{preset: dgx-h100, nodes: 2.5}", "nodes");
  check_error("{preset: dgx-h100, nodes: 2000000}", "16000000 devices; at most 10000000");
  check_error("{preset: dgx-h100, nodes: 99999999999}", "nodes");
  check_error("{preset: dgx-h100, node: {}}", "stands beside 'preset'");
  check_error("{preset: dgx-h100, efficiency: 1.5}", "efficiency");
  check_error("{preset: dgx-h100, efficiency: 0}", "efficiency");
  check_error("{preset: dgx-h100, oversubscription: 0.5}", "oversubscription");
  check_error("{preset: dgx-h100, devices: 16}", "the preset has 8 devices a node");
  check_error("{preset: dgx-h100, devices: 3, network: {bandwidth: 25}}", "bandwidth");
  check_error("{preset: dgx-h100, network: {speed: 25 GB/s}}", "speed");
  check_error("{preset: dgx-h100, network: {latency: -1 us}}", "latency");
  check_error("{preset: dgx-h100, network: {bandwidth: 0 GB/s}}", "bandwidth");
  check_error("{preset: single-gpu, nodes: 2}", "several nodes without a network");
  check_error("{preset: single-gpu, ports: 2}", "no network");
  check_error("{preset: single-gpu, network: ndr400}", "ports");
  check_error("{nodes: 2}", "give preset, node or groups");
  check_error("{groups: []}", "must have 1 to 1000 groups");
  check_error("{node: {" + kNode + "}}", "nodes");
  check_error("{node: {device: h100-sxm, devices: 8, host: intel}, nodes: 1}", "link: missing");
  check_error(
      "{node: {device: h100-sxm, devices: 8, link: nvlink4, ports: 8, host: intel}, nodes: 1}",
      "stands without 'network'");
  check_error("{node: {device: h100-sxm, devices: 8, link: nvlink9, host: intel}, nodes: 1}",
              "unknown link 'nvlink9'");
  check_error(
      "{node: {device: h100-sxm, devices: 8, link: {bandwidth: 1 GB/s}, host: intel}, nodes: 1}",
      "kind");
  check_error("{groups: [{preset: single-gpu, nodes: 1}, {preset: dgx-a100, nodes: 1}]}",
              "several nodes without a network");
}

TEST_CASE("levels that do not nest are refused", "[models]") {
  const auto levels = [](const std::string& text) {
    return "{node: {device: a40, devices: 8, host: amd, levels: [" + text + "]}, nodes: 1}";
  };
  const std::string pair = "{devices: 2, link: nvlink3-ga102-bridge}";
  check_error(levels(pair), "no link joins the 8 devices of a node");
  check_error(levels("{devices: 8, link: pcie4-x16}, " + pair), "innermost to the outermost");
  check_error(levels("{devices: 3, link: pcie4-x16}, {devices: 8, link: pcie4-x16}"), "does not");
  check_error(levels("{devices: 12, link: pcie4-x16}"), "does not fit nodes of 8");
  check_error(levels(pair + ", {devices: 8, link: pcie4-x16, speed: 2}"), "speed");
  check_error(levels(""), "must have 1 to 4 levels");
}

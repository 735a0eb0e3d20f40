// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/switch_flows.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/lower/lower.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using models::CollectiveAlgorithm;
using models::CollectiveOp;

namespace {

/// 8 nodes of 8 H100 below two leaves.
models::Cluster cluster() {
  const base::Document document = base::parse_yaml(
      "preset: dgx-h100\nnodes: 8\nnetwork: {spec: ndr400, sharp: true}\n"
      "fabric: {kind: fat-tree, nodes_per_leaf: 4}\n",
      "test.yaml");
  return models::read_cluster(base::Fields(document, document.root));
}

/// Bytes by wire of an array of 8 GB, from every `stride`-th device.
std::map<std::string, double> bytes(CollectiveOp op, CollectiveAlgorithm algorithm, int stride = 1,
                                    int only = -1) {
  const models::Cluster c = cluster();
  const models::Fabric fabric = models::make_fabric(c);
  std::vector<int> members;
  for (int d = 0; d < c.devices(); d += stride) members.push_back(d);
  const double each = sim::switch_flow(op, 8e9, 8, 8 / stride);
  std::map<std::string, double> bytes;
  for (const auto& [wire, flows] : sim::switch_load(fabric, c, members, op, algorithm, only)) {
    bytes[fabric.wires[static_cast<std::size_t>(wire)].name] += each * flows;
  }
  return bytes;
}

}  // namespace

TEST_CASE("every port sends its share of an all-reduce once and gets it back once", "[network]") {
  for (const auto algorithm : {CollectiveAlgorithm::CollNetDirect,
                               CollectiveAlgorithm::CollNetChain, CollectiveAlgorithm::Nvls}) {
    const auto moved = bytes(CollectiveOp::AllReduce, algorithm);
    const auto expected =
        models::bytes_by_link(CollectiveOp::AllReduce, algorithm, base::Bytes(8e9), 8, 8);
    std::size_t ports = 0;
    for (const auto& [wire, b] : moved) {
      CAPTURE(wire);
      if (wire.find("nvswitch") != std::string::npos) {
        CHECK(b == Approx(expected.inside.value));
      } else if (wire.find(".nic") != std::string::npos) {
        CHECK(b == Approx(1e9));
        CHECK(b == Approx(expected.across.value));
        ++ports;
      } else {
        CHECK(b == Approx(8e9));  // leaf to spine and back: one sum of four nodes, eight trees
      }
    }
    CHECK(ports == 4 * 64);  // from and to each device, from and to each leaf
  }
}

TEST_CASE("one rank a node: one tree through its own port", "[network]") {
  const auto moved = bytes(CollectiveOp::AllReduce, CollectiveAlgorithm::CollNetChain, 8);
  CHECK(moved.at("n3.nic0>leaf0") == Approx(8e9));
  CHECK(moved.at("leaf1>n7.nic0") == Approx(8e9));
  CHECK(moved.at("leaf0>spine") == Approx(8e9));
  CHECK(moved.count("n3.nic1>leaf0") == 0);
}

TEST_CASE("gathers leave a port as one share and come back as all others", "[network]") {
  const auto gather = bytes(CollectiveOp::AllGather, CollectiveAlgorithm::CollNetDirect);
  CHECK(gather.at("n0.nic0>leaf0") == Approx(8e9 / 64));
  CHECK(gather.at("leaf0>n0.nic0") == Approx(7 * 8e9 / 64));
  CHECK(gather.at("n0.g0>n0.nvswitch") == Approx(7e9));
  const auto scatter = bytes(CollectiveOp::ReduceScatter, CollectiveAlgorithm::CollNetDirect);
  CHECK(scatter.at("n0.nic0>leaf0") == Approx(7 * 8e9 / 64));
  CHECK(scatter.at("leaf0>n0.nic0") == Approx(8e9 / 64));
}

TEST_CASE("what the members bring in one by one is what they bring in together", "[network]") {
  const auto whole = bytes(CollectiveOp::AllReduce, CollectiveAlgorithm::CollNetDirect);
  std::map<std::string, double> sum;
  for (int d = 0; d < 64; ++d) {
    for (const auto& [wire, b] :
         bytes(CollectiveOp::AllReduce, CollectiveAlgorithm::CollNetDirect, 1, d)) {
      sum[wire] += b;
    }
  }
  REQUIRE(sum.size() == whole.size());
  for (const auto& [wire, b] : whole) CHECK(sum.at(wire) == Approx(b));
}

TEST_CASE("the step's collectives load the wires as the switches reduce them", "[network]") {
  // As in network_test: the pipeline's messages on the same ports keep their wires.
  const auto port_bytes = [](const std::string& more) {
    const models::Scenario s = tests::small_gpt(
        "cluster: {preset: dgx-a100, nodes: 8, network: {spec: hdr200, sharp: true}}\n"
        "parallel: {tp: 8, pp: 2, dp: 4}\nbatch: {global: 32, micro: 1, sequence: 512}\n"
        "model: {tied: false}\n" +
        more);
    const models::Plan plan = models::make_plan(s);
    const sim::TaskGraph graph = sim::lower(s, plan, sim::make_program(s, plan), {.network = true});
    double bytes = 0;
    for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
      const sim::Transfer* transfer = graph.network.transfer(t);
      if (transfer == nullptr || graph.tasks[t].kind != sim::TaskKind::Collective) continue;
      for (const sim::LinkUse& use : transfer->uses) {
        const std::string& name = graph.network.links[use.link].name;
        if (name.starts_with("n0.nic")) bytes += transfer->bytes * use.flows;
      }
    }
    return bytes;
  };
  const double ring = port_bytes("collectives: {algorithm: ring}");
  REQUIRE(ring > 0);
  CHECK(port_bytes("collectives: {algorithm: collnet-chain}") == Approx(ring / (2 * 3.0 / 4)));
}

// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/parallel/plan.hpp"
#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

const std::string kLogs = PACELINE_SOURCE "/tests/data/nccl-tests/";

Scenario on(const std::string& cluster, const std::string& collectives,
            const std::string& parallel) {
  return tests::scenario_of(
      "model: {hidden: 4096, layers: 16, heads: 32, ffn: 16384, vocab: 51200}\n"
      "cluster: " +
      cluster +
      "\nbatch: {global: 64, micro: 1, sequence: 512}\n"
      "parallel: " +
      parallel + "\n" + collectives);
}
std::string error_of(const std::string& collectives) {
  return ::tests::message_of([&] { on("{preset: dgx-h100, nodes: 2}", collectives, "{tp: 8}"); });
}
CollectiveGroup group(const Scenario& s, std::string_view axis) {
  return group_of(make_plan(s), s, std::span<const std::string_view>(&axis, 1));
}
CollectiveChoice time(CollectiveOp op, double bytes, const CollectiveGroup& g) {
  return collective_time(op, base::Bytes(bytes), g, nccl_release("2.21"));
}

}  // namespace

TEST_CASE("a log of one node replaces the white box for its operation and ranks",
          "[models][scenario][nccl]") {
  const Scenario s =
      on("{preset: dgx-h100, nodes: 2}",
         "collectives: {logs: [{file: " + kLogs + "tagged.txt, nodes: 1}]}", "{tp: 8}");
  const CollectiveGroup tp = group(s, "tp");
  // 20 us + S / 200 GB/s stands in the file.
  const CollectiveChoice c = time(CollectiveOp::AllReduce, 16777216, tp);
  CHECK(c.measured);
  CHECK(c.time.value == Approx(103.9e-6).epsilon(0.001));
  CHECK(time(CollectiveOp::AllReduce, 3e6, tp).time.value == Approx(35e-6).epsilon(0.03));
  // NVLS says nothing about the gathers, which run on rings: the link's own table stays.
  const Scenario without = on("{preset: dgx-h100, nodes: 2}", "", "{tp: 8}");
  CHECK(time(CollectiveOp::AllGather, 1e8, tp).time ==
        time(CollectiveOp::AllGather, 1e8, group(without, "tp")).time);
  CHECK(s.hash != without.hash);
  bool told = false;
  for (const std::string& a : s.assumptions)
    told = told || a.find("all_reduce on 8 ranks of 1 node measured in") != std::string::npos;
  CHECK(told);
}

TEST_CASE("a log of several nodes speaks for groups of the same shape, by ratio for others",
          "[models][scenario][nccl]") {
  const std::string logs = "collectives: {logs: " + kLogs + "two-tables.txt}";
  const Scenario pair = on("{preset: dgx-h100, nodes: 2}", logs, "{tp: 1, dp: 16}");
  const CollectiveGroup two = group(pair, "dp");
  REQUIRE(two.domains == 2);
  const CollectiveChoice c = time(CollectiveOp::AllReduce, 16777216, two);
  CHECK(c.measured);
  CHECK(c.time.value == Approx(133.4e-6).epsilon(0.01));  // 60 us + S / 230 GB/s
  const Scenario s = on("{preset: dgx-h100, nodes: 4}", logs, "{tp: 1, dp: 32}");
  const CollectiveGroup four = group(s, "dp");
  REQUIRE(four.logs != nullptr);
  CHECK(time(CollectiveOp::AllReduce, 16777216, four).measured);
  CHECK(four.logs->find(CollectiveOp::AllReduce, 32)->derived);
  // Other operations, eight nodes and one member per node are the white box's.
  CHECK_FALSE(time(CollectiveOp::AllGather, 16777216, two).measured);
  const Scenario eight = on("{preset: dgx-h100, nodes: 8}", logs, "{tp: 1, dp: 64}");
  CHECK(group(eight, "dp").logs == nullptr);
  const Scenario single = on("{preset: dgx-h100, nodes: 2}", logs, "{tp: 8, dp: 2}");
  CHECK(group(single, "dp").logs == nullptr);
}

TEST_CASE("times from logs never fall with size", "[models][scenario][nccl]") {
  const Scenario s = on("{preset: dgx-h100, nodes: 4}",
                        "collectives: {logs: [" + kLogs + "two-tables.txt, {file: " + kLogs +
                            "gather-na.txt, op: all_gather, nodes: 2}]}",
                        "{tp: 1, dp: 32}");
  const CollectiveGroup g = group(s, "dp");
  for (const CollectiveOp op :
       {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter}) {
    double last = 0;
    for (double bytes = 1; bytes < 1e13; bytes *= 1.19) {
      const CollectiveChoice c = time(op, bytes, g);
      CHECK(c.measured);
      CHECK(c.time.value >= last * (1 - 1e-12));
      last = c.time.value;
    }
  }
}

TEST_CASE("fabrics without a claim warn until a log is named", "[models][scenario][nccl]") {
  const std::string tcp = "{preset: dgx-h100, nodes: 2, network: tcpx, ports: 4}";
  const auto warnings = [](const Scenario& s) { return unclaimed_groups(make_plan(s), s); };
  const Scenario bare = on(tcp, "", "{tp: 1, dp: 16}");
  REQUIRE(warnings(bare).size() == 1);
  CHECK(warnings(bare)[0].find("no claim without a log: data parallelism over tcpx") == 0);
  CHECK(warnings(on(tcp,
                    "collectives: {logs: [{file: " + kLogs +
                        "gather-na.txt, op: all_gather, nodes: 2}]}",
                    "{tp: 1, dp: 16}"))
            .empty());
  CHECK(warnings(on("{preset: dgx-h100, nodes: 2}", "", "{tp: 1, dp: 16}")).empty());
  CHECK(warnings(on("{preset: dgx-h100, nodes: 2, network: ethernet-25}", "", "{tp: 8, pp: 2}"))
            .size() == 1);
}

TEST_CASE("algorithms, protocols and the tuner are the user's to choose", "[models][scenario]") {
  const Scenario s =
      on("{preset: dgx-h100, nodes: 2}",
         "collectives: {algorithm: [ring, tree], protocol: simple, choice: nccl}", "{tp: 8}");
  const CollectiveGroup tp = group(s, "tp");
  CHECK(tp.algorithms == 3u);
  CHECK(tp.protocols == 4u);
  CHECK(tp.tuner);
  CHECK(time(CollectiveOp::AllReduce, 1e9, tp).algorithm == CollectiveAlgorithm::Ring);
  CHECK_FALSE(time(CollectiveOp::AllReduce, 1e9, tp).measured);
  CHECK(group(on("{preset: dgx-h100, nodes: 2}", "", "{tp: 8}"), "tp").algorithms ==
        kNcclAlgorithms);
}

TEST_CASE("wrong collectives are refused with their place", "[models][scenario]") {
  CHECK(error_of("collectives: {algorithm: rings}").find("did you mean 'ring'") !=
        std::string::npos);
  CHECK(error_of("collectives: {algorithm: []}").find("is empty") != std::string::npos);
  CHECK(error_of("collectives: {protocol: ll256}").find("test.yaml:5:") == 0);
  CHECK(error_of("collectives: {choice: best}").find("test.yaml:5:") == 0);
  CHECK(error_of("collectives: {log: x}").find("unknown") != std::string::npos);
  CHECK(error_of("collectives: {logs: /nowhere/x.txt}").find("/nowhere/x.txt") !=
        std::string::npos);
  CHECK(error_of("collectives: {logs: " + kLogs + "tagged.txt}").find("say nodes: N") !=
        std::string::npos);
  CHECK(error_of("collectives: {logs: [{file: " + kLogs + "tagged.txt, nodes: 3}]}")
            .find("3 nodes") != std::string::npos);
  CHECK(error_of("collectives: {logs: [{file: " + kLogs + "two-tables.txt, nodes: 1}]}")
            .find("not of 1") != std::string::npos);
  CHECK(error_of("collectives: {logs: [{file: " + kLogs + "two-tables.txt, ranks: 8}]}")
            .find("not of 8") != std::string::npos);
}

TEST_CASE("a log whose times mostly fall as sizes grow is refused", "[models][scenario][nccl]") {
  const std::string error = error_of("collectives: {logs: [{file: " + kLogs +
                                     "falling.txt, op: all_reduce, ranks: 8, nodes: 1}]}");
  CHECK_THAT(error, Catch::Matchers::Contains("falling.txt") &&
                        Catch::Matchers::Contains("7 of 8 times are above that of a larger size"));
}

TEST_CASE("an algorithm that a group cannot run is said, with what runs instead",
          "[models][scenario]") {
  const auto warnings = [](const std::string& collectives) {
    const Scenario s = on("{preset: dgx-h100, nodes: 2}", collectives, "{tp: 8, dp: 2}");
    return fallen_back_groups(make_plan(s), s);
  };
  const auto pat = warnings("collectives: {algorithm: [nvls-tree]}");
  REQUIRE(pat.size() == 2);
  CHECK_THAT(pat.front(), Catch::Matchers::Contains("ring is taken"));
  CHECK(warnings("collectives: {algorithm: [ring]}").empty());
  CHECK(warnings("").empty());
}

TEST_CASE("naming CollNet wants switches that reduce and a release that has it",
          "[models][scenario]") {
  const std::string none = error_of("collectives: {algorithm: [ring, collnet-direct]}");
  CHECK_THAT(none, Catch::Matchers::StartsWith("test.yaml:5:26: collectives.algorithm: ") &&
                       Catch::Matchers::Contains("'collnet-direct' needs a network whose switches "
                                                 "reduce (SHARP); say sharp: true"));
  CHECK(error_of("collectives: {algorithm: collnet}").find("collnet-direct") != std::string::npos);
  const std::string sharp = "{preset: dgx-h100, nodes: 2, network: {spec: ndr400, sharp: true}}";
  const Scenario s = on(sharp, "collectives: {algorithm: collnet-chain}", "{tp: 1, dp: 16}");
  CHECK(time(CollectiveOp::AllReduce, 1e9, group(s, "dp")).algorithm ==
        CollectiveAlgorithm::CollNetChain);
  CHECK_THROWS_WITH(on(sharp, "collectives: {algorithm: collnet-chain}\nstack: alephalpha-2023",
                       "{tp: 8, dp: 2}"),
                    Catch::Contains("is not modelled for NCCL 2.12; it is from 2.18 on"));
  CHECK_THROWS_WITH(
      on("{preset: dgx-h100, nodes: 2, network: {spec: roce-400, sharp: true}}", "", "{tp: 8}"),
      Catch::Contains("only InfiniBand switches reduce"));
  CHECK_THROWS_WITH(
      on("{preset: dgx-h100, nodes: 2, network: {spec: ndr400, sharp: 2}}", "", "{tp: 8}"),
      Catch::Contains("sharp"));
  CHECK_THROWS_WITH(
      on("{groups: [{preset: dgx-h100, nodes: 1, network: {spec: ndr400, sharp: true}}"
         ", {preset: dgx-h100, nodes: 1}]}",
         "", "{tp: 8, dp: 2}"),
      Catch::Contains("for some kinds of nodes only"));
}

TEST_CASE("no log checked the reducing switches: the answer says so", "[models][scenario][nccl]") {
  const auto warnings = [](const std::string& network, const std::string& parallel,
                           const std::string& more = "") {
    const Scenario s = on("{preset: dgx-h100, nodes: 4, network: " + network + "}", more, parallel);
    return unclaimed_groups(make_plan(s), s);
  };
  const std::string sharp = "{spec: ndr400, sharp: true}";
  const auto found = warnings(sharp, "{tp: 8, dp: 4}");
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::Matchers::StartsWith("no claim without a log: data parallelism over "
                                                   "ndr400 (changed) uses its reducing switches") &&
                           Catch::Matchers::Contains("collnet-"));
  CHECK(warnings("ndr400", "{tp: 8, dp: 4}").empty());
  CHECK(warnings(sharp, "{tp: 8, dp: 4}", "collectives: {algorithm: [ring, tree]}").empty());
  CHECK(warnings("{spec: ndr400, sharp: false}", "{tp: 8, dp: 4}").empty());
}

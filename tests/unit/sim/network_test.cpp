// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/network.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "models/cost/collective.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/lower.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;

namespace {

/// Bytes by wire that the tasks of one kind put on it in a step; wires of every kind are kept by
/// making them too narrow for anything.
std::map<std::string, double> bytes_by_link(const models::Scenario& s, sim::TaskKind kind,
                                            std::size_t* tasks = nullptr) {
  const models::Plan plan = models::make_plan(s);
  const sim::TaskGraph graph = sim::lower(s, plan, sim::make_program(s, plan), {.network = true});
  std::map<std::string, double> bytes;
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    const sim::Transfer* transfer = graph.network.transfer(t);
    if (transfer == nullptr || graph.tasks[t].kind != kind) continue;
    if (tasks != nullptr) ++*tasks;
    for (const sim::LinkUse& use : transfer->uses) {
      bytes[graph.network.links[use.link].name] += transfer->bytes * use.flows;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("a data-parallel ring puts the closed form's bytes on every port", "[network]") {
  // 4 nodes of 8, one member of each of 8 groups a node: 8 rings of 4 through 8 ports, plus the
  // messages of the pipeline on the same ports.
  const models::Scenario s = tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: 8}\nparallel: {tp: 8, pp: 2, dp: 4}\n"
      "batch: {global: 32, micro: 1, sequence: 512}");
  std::size_t tasks = 0;
  const auto bytes = bytes_by_link(s, sim::TaskKind::Collective, &tasks);
  REQUIRE(tasks > 0);
  const sim::Prediction p = sim::predict(s);
  double sent = 0;  // by one rank of the first pipeline rank
  for (const sim::Task& task : p.graph.tasks) {
    if (task.lane == 0 && task.kind == sim::TaskKind::Collective) {
      sent += p.graph.segments[task.segment].bytes[static_cast<std::size_t>(sim::Stream::Dp)];
    }
  }
  for (const auto& [link, moved] : bytes) {
    CAPTURE(link);
    if (link.starts_with("n0.nic")) CHECK(moved == Approx(sent));
  }
  CHECK(std::any_of(bytes.begin(), bytes.end(),
                    [](const auto& b) { return b.first.starts_with("n0.nic"); }));
}

TEST_CASE("a message's bytes pass the ports of both ends", "[network]") {
  const models::Scenario s = tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {tp: 8, pp: 2, dp: 1, sequence_parallel: "
      "true}\n"
      "schedule: {name: interleaved-1f1b, chunks: 2}\n"
      "batch: {global: 16, micro: 1, sequence: 512}");
  const auto bytes = bytes_by_link(s, sim::TaskKind::Message);
  // 16 microbatches of 512 x 1024 activations of 2 bytes go from node 0 twice down (stage 0 to 1
  // and 2 to 3) and once up (stage 2 to 1), an eighth each through every port.
  const double each = 512.0 * 1024 * 2 / 8;
  for (const auto& [link, moved] : bytes) {
    CAPTURE(link);
    CHECK(moved == Approx(16 * 3 * each));
  }
  CHECK(bytes.size() >= 1);
}

TEST_CASE("wires that cannot get full are left out", "[network]") {
  // One stage, no data parallelism over the network: nothing can meet.
  const models::Scenario s = tests::small_gpt("parallel: {tp: 8}");
  const models::Plan plan = models::make_plan(s);
  CHECK(sim::lower(s, plan, sim::make_program(s, plan), {.network = true}).network.empty());
}

TEST_CASE("switches on the way add their latency to messages and rings", "[network]") {
  const auto step = [](const std::string& latency, const std::string& parallel) {
    const models::Scenario s = tests::small_gpt(
        "cluster: {preset: dgx-a100, nodes: 4, fabric: {kind: leaf-spine, nodes_per_leaf: 1, "
        "spines: 1, uplink: 1600 Gb/s, switch_latency: " +
        latency + "}}\nparallel: " + parallel +
        "\nbatch: {global: 4, micro: 1, sequence: 512}\nmodel: {tied: false}");
    const models::Plan plan = models::make_plan(s);
    return sim::run_reference(sim::lower(s, plan, sim::make_program(s, plan), {.network = true}))
        .makespan;
  };
  // It counts once from leaf to leaf: 3 messages forward and 3 back for one microbatch through 4
  // stages, at least.
  const std::string pipeline = "{tp: 8, pp: 4}";
  CHECK(step("1 s", pipeline) - step("0 s", pipeline) >= 2 * 3 - 1e-3);
  // One all-reduce of 4 nodes: 2 (4 - 1) crossings.
  const std::string data = "{tp: 8, dp: 4}";
  CHECK(step("1 s", data) - step("0 s", data) >= 2 * 3 - 1e-3);
}

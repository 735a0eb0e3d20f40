// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/chunks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "sim/engine/maxmin.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/lower/lower.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// A100 in nodes of 8 with so many network ports, and a stack that sends gradients while stages
/// send activations.
models::Scenario on_a100(int nodes, const std::string& layout, int ports = 8) {
  return ::tests::small_gpt("cluster: {preset: dgx-a100, nodes: " + std::to_string(nodes) +
                            ", ports: " + std::to_string(ports) +
                            "}\nmodel: {hidden: 4096, heads: 32, ffn: 16384}\nstack: nemo-25.02"
                            "\nbatch: {global: 128, micro: 1, sequence: 2048}\nparallel: " +
                            layout);
}

TaskGraph graph_of(const models::Scenario& s, bool chunks) {
  const models::Plan plan = models::make_plan(s);
  return lower(s, plan, make_program(s, plan), {.network = true, .chunks = chunks});
}

std::size_t steps_in(const TaskGraph& graph) {
  return static_cast<std::size_t>(
      std::count_if(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) {
        return task.kind == TaskKind::Collective && task.stream == Stream::None;
      }));
}

/// As if every wire had room for all.
TaskGraph apart(TaskGraph graph) {
  for (NetworkLink& link : graph.network.links) link.bandwidth *= 1e6;
  return graph;
}

std::map<std::string, double> bytes_by_link(const TaskGraph& graph) {
  std::map<std::string, double> bytes;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Transfer* transfer = graph.network.transfer(t);
    if (transfer == nullptr) continue;
    for (const LinkUse& use : transfer->uses) {
      bytes[graph.network.links[use.link].name] += transfer->bytes * use.flows;
    }
  }
  return bytes;
}

/// Most transfers under way at the same time.
int most_flows(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<std::pair<double, int>> turns;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Transfer* transfer = graph.network.transfer(t);
    if (transfer == nullptr || transfer->bytes <= 0) continue;
    turns.emplace_back(timeline.start[t] + transfer->latency, 1);
    turns.emplace_back(timeline.finish[t], -1);
  }
  std::sort(turns.begin(), turns.end());  // ends first
  int now = 0, most = 0;
  for (const auto& turn : turns) most = std::max(most, now += turn.second);
  return most;
}

/// Of 32 ranks, pipelines among them: their messages and gradients meet on the ports.
const std::vector<std::string> kLayouts{
    "{dp: 32, zero: 1}",
    "{dp: 32, zero: 3, shard: 8}",
    "{tp: 2, pp: 2, dp: 8, zero: 1}",
    "{tp: 2, pp: 2, dp: 8, zero: 2}",
    "{tp: 1, pp: 2, dp: 16, zero: 1}",
    "{tp: 4, pp: 2, dp: 4, zero: 2}",
};

}  // namespace

TEST_CASE("without full wires, rings message by message take their closed form", "[network]") {
  for (const std::string& layout : kLayouts) {
    const models::Scenario s = on_a100(4, layout);
    const TaskGraph chunks = graph_of(s, true);
    CAPTURE(layout);
    CHECK(steps_in(chunks) > 0);
    const double expected = run_reference(graph_of(s, false)).makespan;
    CHECK(run_reference(chunks).makespan == Approx(expected).epsilon(1e-9));
    CHECK(run_max_min(apart(chunks)).makespan == Approx(expected).epsilon(1e-6));
    std::array<double, kStreams> bytes{};
    for (const Task& task : chunks.tasks) {
      const Segment& segment = chunks.segments[task.segment];
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] += segment.bytes[i] * static_cast<double>(chunks.lanes[task.lane].members);
      }
    }
    const auto traffic = predict(s).result.traffic_bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      CHECK(bytes[i] == Approx(traffic[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("rings message by message put the same bytes on every wire", "[network]") {
  int compared = 0;
  for (const std::string& layout : kLayouts) {
    const models::Scenario s = on_a100(4, layout, 1);
    const auto fluid = bytes_by_link(graph_of(s, false)), chunks = bytes_by_link(graph_of(s, true));
    CAPTURE(layout);
    for (const auto& [name, bytes] : fluid) {
      const auto found = chunks.find(name);
      if (found == chunks.end()) continue;  // another of several alike has been kept
      CAPTURE(name);
      CHECK(found->second == Approx(bytes).epsilon(1e-9));
      ++compared;
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("on full wires, rings message by message are close to fluid ones", "[network]") {
  double worst = 0;
  for (const std::string& layout : kLayouts) {
    for (const int ports : {1, 2, 4}) {
      const models::Scenario s = on_a100(4, layout, ports);
      const TaskGraph fluid = graph_of(s, false);
      const double shared = run_max_min(fluid).makespan;
      worst = std::max(worst, shared / run_reference(fluid).makespan);
      CAPTURE(layout, ports);
      CHECK(run_max_min(graph_of(s, true)).makespan == Approx(shared).epsilon(0.001));
    }
  }
  CHECK(worst > 1.05);  // sharing matters here
}

TEST_CASE("every scenario message by message: the same without sharing, and not too many flows",
          "[network][simgrid]") {
  std::string missing;
  if (!simgrid_available(&missing)) {
    WARN("skipped, no SimGrid: " << missing);
    return;
  }
  for (const auto& file : std::filesystem::directory_iterator(PACELINE_SOURCE "/scenarios")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().filename().string());
    const models::Scenario s = models::read_scenario_file(file.path().string(), {});
    if (s.moe.overlap) continue;  // of the reference engine alone
    const TaskGraph graph = graph_of(s, true);
    const EngineOptions options = engine_options(s);
    const double alone = run_reference(graph_of(s, false), options).makespan;
    CHECK(run_reference(graph, options).makespan == Approx(alone).epsilon(1e-6));
    CHECK(run_simgrid(apart(graph), options).makespan == Approx(alone).epsilon(1e-6));
    const Timeline shared = run_simgrid(graph, options);
    CHECK(most_flows(graph, shared) <= 500);
  }
}

TEST_CASE("what stays fluid is said", "[network]") {
  const auto said = [](const models::Scenario& s) { return graph_of(s, true).network.assumptions; };
  CHECK(said(on_a100(4, "{dp: 32, zero: 3}")).empty());
  const models::Scenario wide = on_a100(16, "{dp: 128, zero: 3}");
  REQUIRE(said(wide).size() == 1);
  CHECK(said(wide).front().find("more than 64 ranks") != std::string::npos);
  CHECK(steps_in(graph_of(wide, true)) == 0);
}

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

/// 16 A100 in two nodes with so many network ports.
models::Scenario two_nodes(const std::string& layout, int ports = 8) {
  return ::tests::small_gpt("cluster: {preset: dgx-a100, nodes: 2, ports: " +
                            std::to_string(ports) + "}\nparallel: " + layout +
                            "\nbatch: {global: 64, micro: 1, sequence: 512}");
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

const std::vector<std::string> kLayouts{"{dp: 16}", "{tp: 2, dp: 8}", "{tp: 2, pp: 2, dp: 4, zero: 1}",
                                        "{tp: 8, dp: 2, zero: 1}", "{dp: 16, zero: 3}",
                                        "{dp: 16, zero: 3, shard: 8}"};

}  // namespace

TEST_CASE("without full wires, rings message by message take their closed form", "[network]") {
  for (const std::string& layout : kLayouts) {
    const models::Scenario s = two_nodes(layout);
    const TaskGraph chunks = graph_of(s, true);
    CAPTURE(layout);
    CHECK(steps_in(chunks) > 0);
    const double expected = run_reference(graph_of(s, false)).makespan;
    CHECK(run_reference(chunks).makespan == Approx(expected).epsilon(1e-9));
    CHECK(run_max_min(apart(chunks)).makespan == Approx(expected).epsilon(1e-6));
    CHECK(predict(s).result.traffic_bytes == [&] {
      std::array<double, kStreams> bytes{};
      for (const Task& task : chunks.tasks) {
        const Segment& segment = chunks.segments[task.segment];
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          bytes[i] += segment.bytes[i] * static_cast<double>(chunks.lanes[task.lane].members);
        }
      }
      return bytes;
    }());
  }
}

TEST_CASE("rings message by message put the same bytes on every wire", "[network]") {
  for (const std::string& layout : kLayouts) {
    const models::Scenario s = two_nodes(layout, 1);
    const auto fluid = bytes_by_link(graph_of(s, false)), chunks = bytes_by_link(graph_of(s, true));
    CAPTURE(layout);
    CHECK(!fluid.empty());
    for (const auto& [name, bytes] : fluid) {
      const auto found = chunks.find(name);
      if (found == chunks.end()) continue;  // another of several alike has been kept
      CAPTURE(name);
      CHECK(found->second == Approx(bytes).epsilon(1e-9));
    }
  }
}

TEST_CASE("on full wires, rings message by message are close to fluid ones", "[network]") {
  for (const std::string& layout : kLayouts) {
    for (const int ports : {1, 2, 4}) {
      const models::Scenario s = two_nodes(layout, ports);
      const double fluid = run_max_min(graph_of(s, false)).makespan;
      const double chunks = run_max_min(graph_of(s, true)).makespan;
      CAPTURE(layout, ports);
      WARN(layout << " ports " << ports << " " << chunks / fluid << " ref " << fluid / run_reference(graph_of(s, false)).makespan);
      CHECK(chunks == Approx(fluid).epsilon(0.05));
    }
  }
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
    const TaskGraph graph = graph_of(s, true);
    const EngineOptions options{s.schedule.dispatch};
    const double alone = run_reference(graph_of(s, false), options).makespan;
    CHECK(run_reference(graph, options).makespan == Approx(alone).epsilon(1e-6));
    CHECK(run_simgrid(apart(graph), options).makespan == Approx(alone).epsilon(1e-6));
    const Timeline shared = run_simgrid(graph, options);
    WARN(file.path().filename().string() << " flows " << most_flows(graph, shared) << " tasks " << graph.tasks.size() << " " << steps_in(graph) << " chunk/alone " << shared.makespan/alone);
    CHECK(most_flows(graph, shared) <= 500);
  }
}

TEST_CASE("what stays fluid is said", "[network]") {
  const auto said = [](const models::Scenario& s) { return graph_of(s, true).network.assumptions; };
  CHECK(said(two_nodes("{dp: 16}")).empty());
  const models::Scenario wide = ::tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: 16}\nparallel: {dp: 128}\nbatch: {global: 128, micro: 1, "
      "sequence: 512}");
  REQUIRE(said(wide).size() == 1);
  CHECK(said(wide).front().find("more than 64 ranks") != std::string::npos);
  CHECK(steps_in(graph_of(wide, true)) == 0);
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sim/engine/maxmin.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/lower/lower.hpp"
#include "sim/lower/pass_role.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/property/random_graph.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// Skips where SimGrid is missing, saying so.
#define NEEDS_SIMGRID()                       \
  std::string missing;                        \
  if (!simgrid_available(&missing)) {         \
    WARN("skipped, no SimGrid: " << missing); \
    return;                                   \
  }

TaskId add_transfer(TaskGraph& graph, Transfer transfer, std::uint32_t lane,
                    std::span<const TaskId> deps = {}) {
  Task task;
  task.lane = lane;
  task.stream = Stream::Dp;
  task.kind = TaskKind::Message;
  task.seconds = transfer.latency + transfer.bytes / transfer.rate;
  const TaskId id = graph.add(task, deps);
  Network& network = graph.network;
  network.transfer_of.resize(id + 1, kNoTransfer);
  network.transfer_of[id] = static_cast<std::uint32_t>(network.transfers.size());
  network.transfers.push_back(std::move(transfer));
  return id;
}

std::uint32_t add_link(TaskGraph& graph, double bandwidth) {
  Network& network = graph.network;
  network.links.push_back({"link " + std::to_string(network.links.size()), bandwidth, {}});
  return static_cast<std::uint32_t>(network.links.size() - 1);
}

double worst_difference(const Timeline& a, const Timeline& b) {
  REQUIRE(a.finish.size() == b.finish.size());
  double worst = 0;
  for (std::size_t t = 0; t < a.finish.size(); ++t) {
    worst = std::max(worst, std::abs(a.finish[t] - b.finish[t]));
  }
  return worst / std::max(a.makespan, 1e-30);
}

/// The links between two hosts of a network, both ways apart.
struct NetShape {
  int hosts = 0;
  std::vector<std::vector<std::uint32_t>> up, down;  ///< by host: to and from the core
  /// Extra links between the parts of two hosts, by (part of a, part of b); empty: none.
  std::vector<std::vector<std::uint32_t>> between;
  std::vector<int> part;
  std::vector<std::uint32_t> route(int a, int b) const {
    std::vector<std::uint32_t> links = up[static_cast<std::size_t>(a)];
    const auto& d = down[static_cast<std::size_t>(b)];
    const auto pa = static_cast<std::size_t>(part[static_cast<std::size_t>(a)]);
    const auto pb = static_cast<std::size_t>(part[static_cast<std::size_t>(b)]);
    if (!between.empty() && pa != pb) links.push_back(between[pa][pb]);
    links.insert(links.end(), d.begin(), d.end());
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
    return links;
  }
};

/// Star: one link up and down per host. Fat tree: leaves with half of the bandwidth above them.
/// Dragonfly: one narrow link between each two groups, reached through the group's routers.
NetShape make_shape(TaskGraph& graph, const std::string& kind, int hosts) {
  NetShape shape;
  shape.hosts = hosts;
  const int part_size = kind == "star" ? hosts : 8;
  const int parts = hosts / part_size;
  std::vector<std::uint32_t> part_up, part_down;
  for (int p = 0; p < parts; ++p) {
    part_up.push_back(kind == "fat tree" ? add_link(graph, 40e9) : 0);
    part_down.push_back(kind == "fat tree" ? add_link(graph, 40e9) : 0);
  }
  for (int h = 0; h < hosts; ++h) {
    const int p = h / part_size;
    shape.part.push_back(p);
    shape.up.push_back({add_link(graph, 10e9)});
    shape.down.push_back({add_link(graph, 10e9)});
    if (kind != "fat tree") continue;
    shape.up.back().push_back(part_up[static_cast<std::size_t>(p)]);
    shape.down.back().push_back(part_down[static_cast<std::size_t>(p)]);
  }
  if (kind != "dragonfly") return shape;
  shape.between.assign(static_cast<std::size_t>(parts),
                       std::vector<std::uint32_t>(static_cast<std::size_t>(parts), 0));
  for (auto& row : shape.between) {
    for (auto& link : row) link = add_link(graph, 5e9);
  }
  return shape;
}

/// `concurrent` chains of transfers between random hosts; sizes differ, many start together.
TaskGraph random_traffic(base::Rng& rng, const std::string& kind, int concurrent) {
  TaskGraph graph;
  const NetShape shape = make_shape(graph, kind, 64);
  graph.lanes.resize(static_cast<std::size_t>(concurrent));
  const auto host = [&] { return static_cast<int>(rng.below(64)); };
  for (int round = 0; round < 3; ++round) {
    for (int lane = 0; lane < concurrent; ++lane) {
      const int a = host();
      int b = host();
      while (b == a) b = host();
      Transfer transfer;
      transfer.latency = static_cast<double>(rng.below(4)) * 1e-6;
      transfer.bytes = 1e6 * static_cast<double>(1 + rng.below(16));
      transfer.rate = rng.below(4) == 0 ? 2e9 : 10e9;
      for (const std::uint32_t link : shape.route(a, b)) {
        transfer.uses.push_back({link, rng.below(8) == 0 ? 2U : 1U});
      }
      add_transfer(graph, transfer, static_cast<std::uint32_t>(lane));
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("without transfers SimGrid gives the reference engine's times to the bit",
          "[network][simgrid]") {
  NEEDS_SIMGRID();
  base::Rng rng(11);
  for (int i = 0; i < 20; ++i) {
    const TaskGraph graph = random_graph(rng, i % 2 == 0);
    for (const auto dispatch : {models::Dispatch::Fixed, models::Dispatch::Ready}) {
      const Timeline expected = run_reference(graph, {dispatch});
      for (const Timeline& got : {run_simgrid(graph, {dispatch}), run_max_min(graph, {dispatch})}) {
        CHECK(got.start == expected.start);
        CHECK(got.finish == expected.finish);
        CHECK(got.makespan == expected.makespan);
      }
    }
  }
}

TEST_CASE("flows that start together on two narrow links share them", "[network][simgrid]") {
  // u wide, d1 wide, d2 narrow: SimGrid's default mode with latency on the links lets f2 and f3
  // end after 1 s, as if d2 carried twice what it can.
  TaskGraph graph;
  graph.lanes.resize(3);
  const std::uint32_t u = add_link(graph, 10e9), d1 = add_link(graph, 10e9),
                      d2 = add_link(graph, 1e9);
  const auto add = [&](std::uint32_t lane, std::uint32_t down) {
    return add_transfer(graph, {5e-6, 1e9, 10e9, {{u, 1}, {down, 1}}}, lane);
  };
  add(0, d1);
  const TaskId f2 = add(1, d2), f3 = add(2, d2);
  const auto check = [&](const Timeline& timeline) {
    CHECK(timeline.finish[f2] == Approx(2.000005).epsilon(1e-9));
    CHECK(timeline.finish[f3] == Approx(2.000005).epsilon(1e-9));
    CHECK(timeline.makespan == Approx(2.000005).epsilon(1e-9));
  };
  check(run_max_min(graph));
  NEEDS_SIMGRID();
  check(run_simgrid(graph));
}

TEST_CASE("a transfer alone takes its latency and its bytes at its rate", "[network][simgrid]") {
  TaskGraph graph;
  graph.lanes.resize(1);
  const std::uint32_t link = add_link(graph, 10e9);
  add_transfer(graph, {5e-6, 1e9, 10e9, {{link, 1}}}, 0);
  CHECK(run_max_min(graph).makespan == Approx(0.100005).epsilon(1e-12));
  NEEDS_SIMGRID();
  CHECK(run_simgrid(graph).makespan == Approx(0.100005).epsilon(1e-9));
}

TEST_CASE("random traffic: SimGrid agrees with the solver", "[network][simgrid]") {
  NEEDS_SIMGRID();
  const auto kind = GENERATE(as<std::string>{}, "star", "fat tree", "dragonfly");
  const int concurrent = GENERATE(64, 128, 512);
  base::Rng rng(static_cast<std::uint64_t>(concurrent));
  const TaskGraph graph = random_traffic(rng, kind, concurrent);
  const Timeline expected = run_max_min(graph);
  CAPTURE(kind, concurrent);
  CHECK(worst_difference(run_simgrid(graph), expected) < 1e-6);
  CHECK(expected.makespan > run_reference(graph).makespan);  // links were shared
}

TEST_CASE("more flows of one transfer weigh more", "[network][simgrid]") {
  TaskGraph graph;
  graph.lanes.resize(2);
  const std::uint32_t link = add_link(graph, 10e9);
  const TaskId three = add_transfer(graph, {0, 2.5e9, 10e9, {{link, 3}}}, 0);
  const TaskId one = add_transfer(graph, {0, 5e9, 10e9, {{link, 1}}}, 1);
  const auto check = [&](const Timeline& timeline) {
    CHECK(timeline.finish[three] == Approx(1.0));  // 4 flows at 2.5 GB/s
    CHECK(timeline.finish[one] == Approx(1.25));   // then alone at 10 GB/s
  };
  check(run_max_min(graph));
  NEEDS_SIMGRID();
  check(run_simgrid(graph));
}

TEST_CASE("bandwidth that changes on the way is followed exactly", "[network][simgrid]") {
  TaskGraph graph;
  graph.lanes.resize(2);
  const std::uint32_t link = add_link(graph, 10e9);
  graph.network.links[link].changes = {{0.05, 5e9}, {0.15, 10e9}};
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    add_transfer(graph, {5e-6, 1e9, 10e9, {{link, 1}}}, lane);
  }
  CHECK(run_max_min(graph).makespan == Approx(0.250005).epsilon(1e-9));
  NEEDS_SIMGRID();
  CHECK(run_simgrid(graph).makespan == Approx(0.250005).epsilon(1e-9));
}

TEST_CASE("a link that dies stops its transfers, and goes on when it comes back",
          "[network][simgrid]") {
  TaskGraph graph;
  graph.lanes.resize(2);
  const std::uint32_t link = add_link(graph, 10e9), other = add_link(graph, 10e9);
  add_transfer(graph, {0, 1e9, 10e9, {{link, 1}}}, 0);
  add_transfer(graph, {0, 5e9, 10e9, {{other, 1}}}, 1);
  graph.network.links[link].changes = {{0.05, 0}, {1.0, 10e9}};
  CHECK(run_max_min(graph).finish[0] == Approx(1.05));
  TaskGraph broken = graph;
  broken.network.links[link].changes = {{0.05, 0}};
  CHECK_THROWS_AS(run_max_min(broken), base::NoProgress);
  NEEDS_SIMGRID();
  const Timeline timeline = run_simgrid(graph);
  CHECK(timeline.finish[0] == Approx(1.05).epsilon(1e-9));
  CHECK(timeline.finish[1] == Approx(0.5).epsilon(1e-9));
  CHECK_THROWS_WITH(run_simgrid(broken), Catch::Matchers::Contains("never ends") &&
                                             Catch::Matchers::Contains("'link 0' from 0.05"));
}

TEST_CASE("links that change while nothing moves, or just as something starts: SimGrid agrees",
          "[network][simgrid]") {
  NEEDS_SIMGRID();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::Rng rng(seed);
    TaskGraph graph;
    graph.lanes.resize(3);
    for (int l = 0; l < 3; ++l) add_link(graph, 10e9);
    for (NetworkLink& link : graph.network.links) {
      // All times are whole milliseconds: changes fall on starts and ends.
      double at = 0;
      for (int i = 0; i < 12; ++i) {
        at += 1e-3 * static_cast<double>(1 + rng.below(8));
        link.changes.push_back({at, i % 3 == 0 ? 0 : 5e9 * static_cast<double>(1 + i % 2)});
      }
      link.changes.push_back({at + 1e-3, 10e9});
    }
    for (int i = 0; i < 24; ++i) {
      Task kernel;
      kernel.lane = static_cast<std::uint32_t>(i % 3);
      kernel.seconds = 1e-3 * static_cast<double>(rng.below(6));
      const TaskId last =
          i < 3 ? kNoTask : static_cast<TaskId>(graph.tasks.size() - 5);  // the lane's transfer
      const TaskId id = graph.add(kernel, after(last));
      const auto link = static_cast<std::uint32_t>(rng.below(3));
      graph.network.transfer_of.resize(id + 1, kNoTransfer);
      add_transfer(graph,
                   {1e-3 * static_cast<double>(rng.below(2)),
                    1e7 * static_cast<double>(1 + rng.below(4)),
                    10e9,
                    {{link, 1}}},
                   kernel.lane, after(id));
    }
    CAPTURE(seed);
    CHECK(worst_difference(run_simgrid(graph), run_max_min(graph)) < 1e-8);
  }
}

TEST_CASE("more bandwidth never makes random traffic slower than less", "[network]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    base::Rng rng(seed);
    const TaskGraph graph = random_traffic(rng, "fat tree", 32);
    TaskGraph faster = graph;
    for (NetworkLink& link : faster.network.links) link.bandwidth *= 2;
    for (Transfer& transfer : faster.network.transfers) transfer.rate *= 2;
    CHECK(run_max_min(faster).makespan <= run_max_min(graph).makespan * (1 + 1e-9));
  }
}

namespace {

/// A scenario of 16 A100 in two nodes; `layout` and `more` as YAML.
models::Scenario two_nodes(const std::string& layout, const std::string& more = "") {
  return ::tests::small_gpt("cluster: {preset: dgx-a100, nodes: 2" + more + "}\nparallel: " +
                            layout + "\nbatch: {global: 64, micro: 1, sequence: 512}");
}

Timeline timeline_of(const models::Scenario& s, bool unfold, TaskGraph* graph = nullptr) {
  const models::Plan plan = models::make_plan(s);
  TaskGraph g = lower(s, plan, make_program(s, plan), {.unfold = unfold, .network = true});
  Timeline timeline = run_max_min(g, engine_options(s));
  if (graph != nullptr) *graph = std::move(g);
  return timeline;
}

}  // namespace

TEST_CASE("every scenario: SimGrid is the solver, and never faster than the reference engine",
          "[network][simgrid]") {
  NEEDS_SIMGRID();
  for (const auto& file : std::filesystem::directory_iterator(PACELINE_SOURCE "/scenarios")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().filename().string());
    const models::Scenario s = models::read_scenario_file(file.path().string(), {});
    if (s.moe.overlap) continue;  // of the reference engine alone
    const models::Plan plan = models::make_plan(s);
    const TaskGraph graph = lower(s, plan, make_program(s, plan), {.network = true});
    const Timeline reference = run_reference(graph, engine_options(s));
    const Timeline shared = run_simgrid(graph, engine_options(s));
    CHECK(worst_difference(shared, run_max_min(graph, engine_options(s))) < 1e-6);
    if (graph.network.empty()) CHECK(shared.finish == reference.finish);
    TaskGraph steady = graph;  // without slowdown beside communication
    for (Task& task : steady.tasks) task.slowdown = 1;
    CHECK(run_simgrid(steady, engine_options(s)).makespan >=
          run_reference(steady, engine_options(s)).makespan * (1 - 1e-9));
    TaskGraph apart = graph;  // the same transfers, wires without limit
    for (NetworkLink& link : apart.network.links) link.bandwidth *= 1e6;
    CHECK(worst_difference(run_simgrid(apart, engine_options(s)), reference) < 1e-9);
  }
}

TEST_CASE("every schedule takes the same time in both engines where no wire gets full",
          "[network][simgrid]") {
  NEEDS_SIMGRID();
  for (const Schedule& schedule : schedules()) {
    const models::ScheduleTraits& traits = *models::schedule_traits(schedule.name);
    const bool free = (traits.takes & models::kTakesChunks) != 0 && traits.chunks == 1;
    const int chunks = free ? 2 : traits.chunks;
    const models::Scenario s = ::tests::small_gpt(
        "cluster: {preset: dgx-a100, nodes: 4}\nparallel: {tp: 8, pp: 4}\nschedule: {name: " +
        std::string(schedule.name) + ", chunks: " + std::to_string(chunks) + "}");
    CAPTURE(schedule.name);
    const models::Plan plan = models::make_plan(s);
    TaskGraph graph = lower(s, plan, make_program(s, plan), {.network = true});
    for (NetworkLink& link : graph.network.links) link.bandwidth *= 1e6;
    for (const auto dispatch : {models::Dispatch::Fixed, models::Dispatch::Ready}) {
      CHECK(worst_difference(run_simgrid(graph, {dispatch}), run_reference(graph, {dispatch})) <
            1e-9);
    }
  }
}

TEST_CASE("a folded lane and its members one by one take the same time", "[network]") {
  for (const char* layout : {"{tp: 4, pp: 2, dp: 2}", "{tp: 2, pp: 2, dp: 4, zero: 1}",
                             "{tp: 1, dp: 16, zero: 3}", "{tp: 2, pp: 1, dp: 8, zero: 2}"}) {
    for (const char* more : {"", ", ports: 1", ", ports: 2"}) {
      CAPTURE(layout, more);
      const models::Scenario s = two_nodes(layout, more);
      TaskGraph folded;
      const Timeline one = timeline_of(s, false, &folded), all = timeline_of(s, true);
      CHECK(one.makespan == Approx(all.makespan).epsilon(1e-9));
      CHECK(one.makespan >= run_reference(folded).makespan * (1 - 1e-9));
    }
  }
}

TEST_CASE(
    "collectives inside passes become tasks where they leave the node; alone they take the same",
    "[network]") {
  for (const char* layout : {"{tp: 8, cp: 2, dp: 1}", "{tp: 4, cp: 4, dp: 1}",
                             "{tp: 8, cp: 2, dp: 1, context: all-gather}",
                             "{tp: 2, cp: 2, pp: 2, dp: 2, zero: 1, order: tp-dp-ep-pp-cp}"}) {
    for (const char* stack : {"generic", "nemo-25.02", "megatron-2022"}) {
      CAPTURE(layout, stack);
      models::Scenario s = ::tests::small_gpt(
          "cluster: {preset: dgx-a100, nodes: 2}\nparallel: " + std::string(layout) + "\nstack: " +
          stack + "\nbatch: {global: 16, micro: 1, sequence: 2048}\nrecompute: selective");
      s.stack.overlap_slowdown = 1;
      const models::Plan plan = models::make_plan(s);
      const Program program = make_program(s, plan);
      const TaskGraph plain = lower(s, plan, program);
      const TaskGraph split = lower(s, plan, program, {.network = true});
      const auto inner = std::count_if(split.tasks.begin(), split.tasks.end(), [](const Task& t) {
        return t.stream == Stream::Cp || t.stream == Stream::Tp;
      });
      CHECK(inner > 0);
      const Timeline one = run_reference(plain), many = run_reference(split);
      CHECK(many.makespan == Approx(one.makespan).epsilon(1e-9));
      const Result a = measure(s, plain, one), b = measure(s, split, many);
      CHECK(b.hfu == Approx(a.hfu).epsilon(1e-9));
      CHECK(b.bubble_makespan == Approx(a.bubble_makespan).margin(1e-9));
      for (std::size_t p = 0; p < a.breakdown.size(); ++p) {
        CAPTURE(to_text(static_cast<Part>(p)));
        CHECK(b.breakdown[p] == Approx(a.breakdown[p]).margin(1e-9 * a.step_time));
      }
      for (std::size_t i = 0; i < a.traffic_bytes.size(); ++i) {
        CHECK(b.traffic_bytes[i] == Approx(a.traffic_bytes[i]).epsilon(1e-9));
      }
      for (std::size_t i = 0; i < a.memory.size(); ++i) {
        CHECK(b.memory[i].peak_bytes == Approx(a.memory[i].peak_bytes));
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/hardware.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "kernels/hardware_engine/rank_tasks.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;

namespace {

/// Nothing starts before what it waits for on its own rank has ended.
void check_order(const sim::TaskGraph& graph, const sim::Timeline& timeline) {
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    REQUIRE(timeline.start[t] >= 0);
    REQUIRE(timeline.finish[t] >= timeline.start[t]);
    REQUIRE(timeline.finish[t] <= timeline.makespan);
    for (const sim::TaskId d : graph.dependencies(t))
      REQUIRE(timeline.finish[d] <= timeline.start[t]);
  }
}

}  // namespace

TEST_CASE("every task is some rank's, and what one sends another receives", "[hardware]") {
  const models::Scenario s = ::tests::tiny_scenario("parallel: {tp: 2, pp: 2, dp: 2}\n");
  const sim::Prediction p = sim::predict(s, {.kernels = true});
  std::vector<int> owners(p.graph.tasks.size(), 0);
  std::size_t sent = 0, received = 0;
  for (int rank = 0; rank < 8; ++rank) {
    const hardware::RankPart part = hardware::part_of(p.graph, rank, 8);
    std::size_t at = 0;
    for (const hardware::Group& group : part.groups) {
      CHECK(group.first == at);
      CHECK(group.last > group.first);
      at = group.last;
    }
    CHECK(at == part.tasks.size());
    for (const hardware::RankTask& task : part.tasks) {
      ++owners[task.task];
      sent += task.deed == hardware::Deed::Send ? 1 : 0;
      if (task.exchange != nullptr)
        CHECK(std::count(task.exchange->ranks.begin(), task.exchange->ranks.end(), rank) == 1);
    }
    received += part.receives.size();
  }
  for (const int owner : owners) CHECK(owner == 1);
  CHECK(sent == received);
  CHECK(sent > 0);
  CHECK_THROWS_WITH(hardware::part_of(p.graph, 0, 4), Catch::Contains("has 8 ranks, 4 run here"));
}

TEST_CASE("given times are spent, in the order of the program", "[hardware]") {
  const models::Scenario s = ::tests::tiny_scenario(
      "parallel: {pp: 1, dp: 1}\nschedule: {name: gpipe}\n"
      "costs: {forward: 2 ms, input_gradient: 2 ms, weight_gradient: 1 ms}\n");
  const sim::Prediction p = sim::predict(s, {.kernels = true});
  const hardware::Run run = hardware::run(p.graph, sim::engine_options(s), kernels::cpu_backend(),
                                          kernels::self_communicator(), {.warmups = 0, .steps = 3});
  check_order(p.graph, run.timeline);
  REQUIRE(run.step_seconds.size() == 3);
  CHECK(run.timeline.makespan >= 8 * 5e-3);
  for (const double step : run.step_seconds) CHECK(step >= 8 * 5e-3);
}

TEST_CASE("a whole step of real kernels runs on one rank", "[hardware]") {
  for (const char* schedule : {"1f1b", "zb-h1", "1f1b, dispatch: ready"}) {
    const models::Scenario s = ::tests::tiny_scenario(
        "parallel: {pp: 1, dp: 1}\nschedule: {name: " + std::string(schedule) + "}\n");
    const sim::Prediction p = sim::predict(s, {.kernels = true});
    const hardware::Run run = hardware::run(p.graph, sim::engine_options(s), kernels::cpu_backend(),
                                            kernels::self_communicator(), {.steps = 1});
    check_order(p.graph, run.timeline);
    std::size_t timed = 0;
    for (sim::TaskId t = 0; t < p.graph.tasks.size(); ++t)
      timed += run.timeline.finish[t] > run.timeline.start[t] ? 1 : 0;
    CHECK(timed > 8 * 4 * 20);  // microbatches, layers, kernels of a layer both ways
  }
}

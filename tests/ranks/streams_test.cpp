// SPDX-License-Identifier: Apache-2.0
// The hardware engine where work is enqueued, as on GPUs.
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/hardware_engine/hardware.hpp"
#include "sim/predict.hpp"
#include "tests/ranks/later.hpp"
#include "tests/ranks/world.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using paceline::tests::later_backend;
using paceline::tests::world;

namespace {

std::vector<std::string> layouts() {
  if (world().size() == 4) return {"parallel: {pp: 4, dp: 1}\n"};
  return {"parallel: {pp: 2, dp: 1}\nschedule: {name: gpipe}\n",
          "parallel: {pp: 2, dp: 1}\nschedule: {name: zb-h1}\n",
          "parallel: {pp: 2, dp: 1}\nschedule: {name: interleaved-1f1b, chunks: 2}\n",
          "parallel: {pp: 1, dp: 2, zero: 3}\n", "parallel: {tp: 2, pp: 1, dp: 1}\n"};
}

kernels::Communicator later_world() {
  std::vector<int> all(static_cast<std::size_t>(world().size()));
  std::iota(all.begin(), all.end(), 0);
  return paceline::tests::later_communicator(kernels::group(world(), all));
}

}  // namespace

TEST_CASE("streams wait for events: nothing starts before what it needs", "[ranks]") {
  const kernels::Communicator later = later_world();
  for (const std::string& layout : layouts()) {
    INFO(layout);
    const models::Scenario s = ::tests::tiny_scenario(layout);
    const sim::Prediction p = sim::predict(s, {.kernels = true});
    const hardware::Run run =
        hardware::run(p.graph, sim::engine_options(s), later_backend(), later, {.steps = 2});
    CHECK(run.step_seconds.size() == 2);
    const sim::TaskGraph& graph = p.graph;
    for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
      REQUIRE(run.timeline.start[t] <= run.timeline.finish[t]);
      REQUIRE(run.timeline.finish[t] <= run.timeline.makespan);
      for (const sim::TaskId d : graph.dependencies(t)) {
        const bool known = graph.tasks[d].lane == graph.tasks[t].lane ||
                           graph.tasks[d].kind == sim::TaskKind::Message;
        if (known) REQUIRE(run.timeline.finish[d] <= run.timeline.start[t]);
      }
    }
  }
}

TEST_CASE("between ranks, ready dispatch is refused where work is enqueued", "[ranks]") {
  const models::Scenario s =
      ::tests::tiny_scenario("parallel: {pp: " + std::to_string(world().size()) +
                             ", dp: 1}\nschedule: {name: 1f1b, dispatch: ready}\n");
  const sim::Prediction p = sim::predict(s, {.kernels = true});
  CHECK_THROWS_WITH(
      hardware::run(p.graph, sim::engine_options(s), later_backend(), later_world(), {.steps = 1}),
      Catch::Contains("ready dispatch between ranks does not run on later"));
}

// SPDX-License-Identifier: Apache-2.0
#include "sim/steady.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;

namespace {

sim::Prediction small(const std::string& schedule) {
  return sim::predict(::tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: 4}\nparallel: {tp: 8, pp: 4}\nschedule: " + schedule));
}

}  // namespace

TEST_CASE("a step without a flush is one of those that repeat", "[sim]") {
  const sim::Prediction flushed = small("1f1b");
  for (const char* schedule :
       {"pipedream", "pipedream-2bw", "paci", "pipelined-backprop", "amdp"}) {
    CAPTURE(schedule);
    const sim::Prediction p = small(schedule);
    CHECK(p.program.microbatches >= 2 * p.plan.microbatches);
    CHECK(p.result.step_time < p.timeline.makespan / 2);
    const double parts = std::accumulate(p.result.breakdown.begin(), p.result.breakdown.end(), 0.0);
    CHECK(parts == Approx(p.result.step_time));
    CHECK(p.result.model_flops == flushed.result.model_flops);
    CHECK(p.result.hardware_flops == Approx(flushed.result.hardware_flops));
    CHECK(p.result.bubble_makespan >= -1e-9);
    CHECK(p.result.bubble_makespan < 1);
    REQUIRE(p.result.staleness);
    CHECK(p.result.staleness->versions.size() == 4);
  }
  CHECK(small("pipedream-2bw").result.bubble_makespan < flushed.result.bubble_makespan);
  CHECK(small("pipedream-2bw").result.staleness->max == 1);
  CHECK_FALSE(flushed.result.staleness);
}

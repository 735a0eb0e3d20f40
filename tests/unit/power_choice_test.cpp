// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "calibrate/power_limits.hpp"
#include "models/energy/power_cap.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

using namespace paceline;
using Catch::Contains;

namespace {

sim::Result powered(const std::string& more, const std::string& schedule = "1f1b",
                    const std::string& layers = "") {
  sim::PredictOptions options;
  options.energy = true;
  return sim::predict(models::read_scenario(base::parse_yaml(
                          "model: {hidden: 4096, layers: 16, heads: 32, vocab: 32000}\n"
                          "cluster: {preset: dgx-h100, nodes: 1}\nstack: nemo-25.02\n"
                          "parallel: {tp: 2, pp: 4, dp: 1" +
                              layers + "}\nschedule: " + schedule +
                              "\nbatch: {global: 16, micro: 1, sequence: 4096}\n" + more,
                          "test.yaml")),
                      options)
      .result;
}

std::string refused(const std::string& more) {
  try {
    powered(more);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a cap costs time, and energy falls while the voltage can") {
  const sim::Result free = powered("");
  double seconds = free.step_time, joules = free.energy->step.middle - free.energy->host.middle;
  for (const char* cap : {"600 W", "500 W", "400 W"}) {
    CAPTURE(cap);
    const sim::Result capped = powered("power: {cap: " + std::string(cap) + "}\n");
    const double device = capped.energy->step.middle - capped.energy->host.middle;
    CHECK(capped.step_time > seconds);
    CHECK(device < joules);
    double mean = 0;
    for (const double w : capped.energy->watts) mean = std::max(mean, w);
    CHECK(mean <= std::stod(cap) * (1 + 1e-6));
    seconds = capped.step_time;
    joules = device;
  }
  // Of kernels that only multiply, time would follow the clock alone.
  CHECK(seconds < free.step_time / 0.6);
  CHECK(powered("power: {cap: 700 W}\n").step_time == free.step_time);
}

TEST_CASE("a clock stretches the step by at most its inverse") {
  const sim::Result free = powered("");
  const sim::Result slow = powered("power: {clock: 0.8}\n");
  CHECK(slow.step_time > free.step_time);
  CHECK(slow.step_time < free.step_time / 0.8);
  CHECK(powered("power: {clock: 1}\n").step_time == free.step_time);
}

TEST_CASE("slack is slowed where there is some, and the step stays as long") {
  const sim::Result free = powered("");
  const sim::Result uneven =
      powered("power: {slack: true}\n", "1f1b", ", stage_layers: [2, 3, 5, 6]");
  const sim::Result bare = powered("", "1f1b", ", stage_layers: [2, 3, 5, 6]");
  REQUIRE(uneven.energy->slack);
  const sim::SlackClocks& slack = *uneven.energy->slack;
  CHECK(uneven.step_time == bare.step_time);
  CHECK(uneven.energy->step.middle == Approx(bare.energy->step.middle - slack.saved.middle));
  CHECK(slack.saved.middle > 0.01 * bare.energy->step.middle);
  REQUIRE(slack.clock.size() == 4);
  CHECK(slack.clock[0] < 0.95);  // 2 layers beside 6
  CHECK(slack.clock[0] < slack.clock[2]);
  CHECK(slack.clock[3] > 0.97);
  const sim::Result even = powered("power: {slack: true}\n");
  CHECK(even.step_time == free.step_time);
  CHECK(even.energy->slack->saved.middle < slack.saved.middle);
  CHECK(even.energy->slack->saved.middle >= 0);
}

TEST_CASE("power is refused where nothing is known of it") {
  CHECK_THAT(refused("power: {cap: 300 W}\n"),
             Contains("below half") && Contains("350 W to 700 W"));
  CHECK_THAT(refused("power: {cap: 800 W}\n"), Contains("above the TDP"));
  CHECK_THAT(refused("power: {cap: 500}\n"), Contains("test.yaml:") && Contains("unit"));
  CHECK_THAT(refused("power: {cap: 500 W, clock: 0.9}\n"), Contains("follows from the cap"));
  CHECK_THAT(refused("power: {clock: 0}\n"), Contains("0.3"));
  CHECK_THAT(refused("power: {kap: 500 W}\n"), Contains("did you mean 'cap'"));
}

TEST_CASE("the shares of the law of caps are those that the public sweep gives") {
  const calibrate::CommonPower fit = calibrate::common_power(
      calibrate::read_power_limits(PACELINE_SOURCE "/scenarios/published/power/limits.csv"));
  CHECK(models::kClockShares.still == Approx(fit.device.still).epsilon(0.02));
  CHECK(models::kClockShares.floor == Approx(fit.device.floor).epsilon(0.02));
  CHECK(models::kClockShares.low == Approx(fit.device.low).epsilon(0.02));
}

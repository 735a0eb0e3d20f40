// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_step.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tests/unit/sim/jobs/jobs_helper.hpp"

using namespace paceline;
using sim::jobs::Hop;
using sim::jobs::JobSteps;
using tests::jobs_study;
using tests::kJobsHead;

namespace {

models::JobsFile kinds_file(const std::string& work, const std::string& kind) {
  return jobs_study(
             "name: t\nregions: [{name: a, devices: 64, electricity: 0.1 USD/kWh}]\n"
             "power: {active: 1 W, idle: 1 W}\nwork: " +
             work + "\nkinds: [" + kind + "]\njobs: [{kind: k, steps: 1}]\n")
      .base();
}

}  // namespace

TEST_CASE("a job's step on one region is 1F1B's closed form", "[jobs]") {
  const models::JobsFile file =
      kinds_file("{microbatches: 12, split: any, overhead: 10 ms}", "{name: k, forward: 1 s}");
  JobSteps steps(file, 64);
  for (const int k : {1, 2, 5, 16, 40}) {
    const auto step = steps.step(0, {k}, {});
    CHECK(step.seconds == Approx((12 + k - 1) * (3.0 / k + 0.02)));
    CHECK(step.busy == Approx(12 * (3.0 + 0.02 * k)));
  }
}

TEST_CASE("hops cost their seconds and their latency, and a slow link sets the pace", "[jobs]") {
  const models::JobsFile one =
      kinds_file("{microbatches: 1, split: any}", "{name: k, forward: 1 s}");
  JobSteps steps(one, 64);
  CHECK(steps.step(0, {1, 1}, {Hop{0.25, 0.5}}).seconds == Approx(3 + 2 * 0.75));
  CHECK(steps.step(0, {2, 1, 1}, {Hop{0.25, 0}, Hop{0, 0.5}}).seconds == Approx(3 + 2 * 0.75));
  const models::JobsFile many =
      kinds_file("{microbatches: 100, split: any, schedule: gpipe}", "{name: k, forward: 1 s}");
  JobSteps slow(many, 64);
  // Messages of 2 s each go one after another over a link between stages that take 0.5 s.
  const double paced = slow.step(0, {1, 1}, {Hop{2, 0}}).seconds;
  CHECK(paced >= 100 * 2);
  // Latency does not hold up what follows: GPipe pays it once each way.
  CHECK(slow.step(0, {1, 1}, {Hop{0, 2}}).seconds == Approx(slow.step(0, {2}, {}).seconds + 4));
}

TEST_CASE("the most stages a job takes are those of its fastest step", "[jobs]") {
  const models::JobsFile any =
      kinds_file("{microbatches: 12, split: any, overhead: 10 ms}", "{name: k, forward: 1 s}");
  const auto seconds = [](int k) { return (12 + k - 1) * (3.0 / k + 0.02); };
  int best = 1;
  for (int k = 2; k <= 64; ++k)
    if (seconds(k) < seconds(best)) best = k;
  JobSteps steps(any, 64);
  CHECK(steps.sizes(0).back() == best);
  CHECK(steps.sizes(0).size() == static_cast<std::size_t>(best));

  const models::JobsFile layers =
      kinds_file("{microbatches: 12}", "{name: k, forward: 1 s, layers: 10}");
  JobSteps whole(layers, 64);
  // Fullest stages of 10, 5, 4, 3, 2 and 1 layers.
  CHECK(whole.sizes(0) == std::vector<int>{1, 2, 3, 4, 5, 10});
  CHECK(JobSteps(layers, 7).sizes(0) == std::vector<int>{1, 2, 3, 4, 5});
}

TEST_CASE("no step is shorter than its bound", "[jobs]") {
  const std::string schedule = GENERATE("1f1b", "gpipe", "zb-h1");
  const models::JobsFile file =
      kinds_file("{microbatches: 5, overhead: 1 ms, schedule: " + schedule + "}",
                 "{name: k, forward: 1 s, layers: 23}");
  JobSteps steps(file, 64);
  for (int k = 1; k <= 23; ++k)
    CHECK(sim::jobs::step_bound(file.kinds[0], k) <= steps.step(0, {k}, {}).seconds * (1 + 1e-12));
}

TEST_CASE("a job's schedule must end its steps and keep stage r on rank r", "[jobs]") {
  for (const char* name : {"pipedream", "hanayo", "chimera", "no-such"}) {
    const models::JobsFile file =
        kinds_file("{microbatches: 4, split: any, schedule: " + std::string(name) + "}",
                   "{name: k, forward: 1 s}");
    INFO(name);
    CHECK_THROWS_AS(JobSteps(file, 8), base::Error);
  }
}

TEST_CASE("a kind with a scenario is predicted on the stages it gets", "[jobs]") {
  const models::JobsFile file =
      models::read_jobs(PACELINE_SOURCE "/scenarios/jobs/two_regions.yaml").base();
  REQUIRE(file.kinds[0].scenario.has_value());
  CHECK(file.kinds[0].unit == 8);
  JobSteps steps(file, 112);
  const std::vector<int>& sizes = steps.sizes(0);
  REQUIRE(sizes.size() >= 2);
  CHECK(sizes.front() > 1);  // a model of 70 B does not fit on one node
  const double near = steps.step(0, {4}, {}).seconds;
  const double far = steps.step(0, {2, 2}, {Hop{0.05, 0.045}}).seconds;
  CHECK(far > near);
  CHECK(steps.step(0, {8}, {}).seconds < near);
}

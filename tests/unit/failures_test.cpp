// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/failures.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {
constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
}

TEST_CASE("a run without failures takes its work and its checkpoints") {
  const RunSample run = sample_run(10 * kHour, {kHour, 30, 0}, {}, 1, true);
  CHECK(run.checkpoint == Approx(9 * 30));  // none after the last hour
  CHECK(run.wall == Approx(10 * kHour + 270));
  CHECK(run.failures == 0);
  CHECK(run.spans.size() == 19);
}

TEST_CASE("every second of a run is accounted for, once") {
  const std::vector<FailureProcess> failures{{"device", 2 * kHour, 1, 60, 300},
                                             {"network", 9 * kHour, 0.7, 5, 100}};
  const RunSample run = sample_run(20 * kDay, {20 * kMinute, 20, 90}, failures, 3, true);
  CHECK(run.work + run.checkpoint + run.lost + run.detect + run.restart ==
        Approx(run.wall).epsilon(1e-9));
  double parts[5] = {}, end = 0;
  for (const RunSpan& span : run.spans) {
    REQUIRE(span.begin == Approx(end));
    REQUIRE(span.end >= span.begin);
    end = span.end;
    parts[static_cast<int>(span.doing)] += span.end - span.begin;
  }
  CHECK(end == Approx(run.wall));
  CHECK(parts[0] == Approx(run.work));
  CHECK(parts[2] == Approx(run.lost));
  CHECK(run.failures > 200);
}

TEST_CASE("sampled goodput is that of the closed form within three standard errors") {
  for (const double restart : {5 * kMinute, 15 * kMinute}) {
    for (const double blocking : {6.0, 120.0}) {
      const FailureProcess f{"any", 3.09 * kHour, 1, 0, restart};
      const Checkpoints c{13 * kMinute, blocking, 0};
      const Estimate sampled = expected_goodput(54 * kDay, c, {f}, 20, 11);
      const double error = (*sampled.high - sampled.value) / 1.96;
      CAPTURE(restart, blocking);
      CHECK(std::abs(sampled.value - exact_goodput(c, f)) < 3 * error);
      CHECK(error < 0.003);
    }
  }
}

TEST_CASE(
    "Daly's interval is the best of a scan within 2 %, Young's close to it where it is short") {
  for (const double blocking : {6.0, 30.0, 60.0, 120.0}) {
    const FailureProcess f{"any", 3.09 * kHour, 1, 0, 600};
    double best = 0, at = 0;
    for (double t = 30; t < 2 * kHour; t *= 1.002) {
      const double g = exact_goodput({t, blocking, 0}, f);
      if (g > best) best = g, at = t;
    }
    CHECK(daly_interval(blocking, f.mtbf) == Approx(at).epsilon(0.02));
  }
  CHECK(young_interval(6, 3.09 * kHour) == Approx(daly_interval(6, 3.09 * kHour)).epsilon(0.02));
  CHECK(daly_interval(10, 4) == 4);
}

TEST_CASE("more than 90 % effective time asks for short restarts and checkpoints of seconds") {
  // Llama 3 (arXiv:2407.21783, section 3.3.4): 419 unexpected interruptions in 54 days.
  const double mtbf = 54 * kDay / 419;
  const auto best = [&](double blocking, double restart) {
    return exact_goodput({daly_interval(blocking, mtbf), blocking, 0},
                         {"any", mtbf, 1, 0, restart});
  };
  CHECK(best(6, 13.3 * kMinute) > 0.9);
  CHECK(best(6, 13.6 * kMinute) < 0.9);
  CHECK(best(30, 5.7 * kMinute) > 0.9);
  CHECK(best(30, 6.0 * kMinute) < 0.9);
  CHECK(best(60, 0) < 0.9);
}

TEST_CASE("a copy that is still being written does not help") {
  const FailureProcess f{"any", 2 * kHour, 1, 0, 60};
  const Estimate at_once = expected_goodput(10 * kDay, {600, 1, 0}, {f}, 10, 5);
  const Estimate later = expected_goodput(10 * kDay, {600, 1, 500}, {f}, 10, 5);
  CHECK(later.value < at_once.value);
}

TEST_CASE("months of a job of 16384 devices are sampled at once") {
  const std::vector<FailureProcess> failures{{"device", 3 * kHour, 1, 30, 300}};
  CHECK(sample_run(365 * kDay, {13 * kMinute, 30, 0}, failures, 1).failures > 2000);
}

TEST_CASE("times that mean nothing are refused") {
  const FailureProcess good{"any", kHour, 1, 0, 60};
  FailureProcess bad = good;
  bad.mtbf = 0;
  CHECK_THROWS_WITH(sample_run(kDay, {}, {bad}, 1), Catch::Contains("mtbf"));
  bad = good;
  bad.restart = -1;
  CHECK_THROWS_AS(sample_run(kDay, {}, {bad}, 1), base::Error);
  CHECK_THROWS_AS(sample_run(std::nan(""), {}, {good}, 1), base::Error);
  CHECK_THROWS_AS(sample_run(kDay, {0, 1, 1}, {good}, 1), base::Error);
}

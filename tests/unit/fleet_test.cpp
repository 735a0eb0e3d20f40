// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/outer/failures.hpp"

using namespace paceline::sim;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kAnHour = 3600;

/// 10 hours of work, a checkpoint every hour that costs nothing, four nodes.
RunSetting ten_hours(const FailureProcess& process, double at, double lasts, int part = 0) {
  RunSetting s{.work = 10 * kAnHour, .checkpoints = {kAnHour, 0, 0}, .failures = {process}};
  s.failures.front().traced = true;
  s.fleet.nodes = 4;
  s.trace = {{at, 0, part, lasts}};
  return s;
}

FailureProcess node_failure() {
  FailureProcess p{"node", 0, 1, 60, 300};
  p.takes = Takes::Node;
  return p;
}

double parts_of(const RunSample& r) {
  return r.work + r.checkpoint + r.lost + r.detect + r.restart + r.wait + r.slow;
}

/// Half as fast with one node away, nothing with more.
Degraded half(const std::vector<int>& lost) {
  return {lost.empty() ? 1 : lost.size() == 1 ? 0.5 : 0, 10};
}

}  // namespace

TEST_CASE("a link that is down for a moment is waited for", "[failures]") {
  FailureProcess flap{"link"};
  flap.strike = Strike::Wait;
  const RunSample run = sample_run(ten_hours(flap, 1.5 * kAnHour, 30, -1), 1);
  CHECK(run.wall == Approx(10 * kAnHour + 30));
  CHECK(run.wait == Approx(30));
  CHECK(run.lost == 0);
  CHECK(run.causes.front().count == 1);
}

TEST_CASE("without a spare the job waits until the node is back", "[failures]") {
  RunSetting s = ten_hours(node_failure(), 1.5 * kAnHour, 2 * kAnHour);
  const RunSample run = sample_run(s, 1);
  // Struck at 5400 s, back at 12600 s, 300 s of restart, on from the checkpoint at 3600 s of work.
  CHECK(run.wall == Approx(12600 + 300 + 32400));
  CHECK(run.lost == Approx(1800));
  CHECK(run.wait == Approx(7200 - 60));
  CHECK(parts_of(run) == Approx(run.wall));

  s.fleet.spares = 1;
  const RunSample spared = sample_run(s, 1);
  CHECK(spared.wall == Approx(5400 + 360 + 32400));
  CHECK(spared.held == Approx(spared.wall * 1.25));  // the spare is paid for

  // The second node breaks while the only spare stands in for the first, which is back at 12600 s.
  s.trace.push_back({2 * kAnHour, 0, 1, 2 * kAnHour});
  const RunSample second = sample_run(s, 1);
  CHECK(second.wait == Approx(12600 - 7260));
  CHECK(parts_of(second) == Approx(second.wall));
}

TEST_CASE("a job that goes on is slower until the node is back", "[failures]") {
  RunSetting s = ten_hours(node_failure(), 1.5 * kAnHour, 2 * kAnHour);
  s.fleet.goes_on = half;
  s.fleet.step = 7;
  const RunSample run = sample_run(s, 1, true);
  // 5400 s are 771 steps and 3 s; on at 5470 s with half of the pace, whole again at 12610 s.
  CHECK(run.lost == Approx(3));
  CHECK(run.slow == Approx((12600 - 5470) / 2.0));
  CHECK(run.wall == Approx(12610 + 36000 - (5397 + (12600 - 5470) / 2.0)));
  CHECK(parts_of(run) == Approx(run.wall));
  CHECK(run.spans.back().end == Approx(run.wall));

  s.trace.push_back({2 * kAnHour, 0, 1, 2 * kAnHour});  // two are too few: back to a checkpoint
  const RunSample two = sample_run(s, 1);
  CHECK(two.wait == Approx(12600 - 7260));
  CHECK(two.lost > 1000);
  CHECK(parts_of(two) == Approx(two.wall));
}

TEST_CASE("a slow node slows the job until it is over or taken out", "[failures]") {
  FailureProcess slow{"slow"};
  slow.strike = Strike::Slow;
  slow.pace = 0.5;
  slow.takes = Takes::Node;
  RunSetting s = ten_hours(slow, 1.5 * kAnHour, kAnHour);
  CHECK(sample_run(s, 1).wall == Approx(10.5 * kAnHour));
  FailureProcess out = node_failure();
  out.traced = out.warned = true;
  out.notice = 1e30;
  s.failures.push_back(out);
  s.failures.front().taken_out = true;
  s.failures.front().process_after = 1;
  s.checkpoints.blocking = 20;
  const RunSample run = sample_run(s, 1);
  CHECK(run.lost == 0);  // saved before it is taken out
  CHECK(run.restart == Approx(300));
  CHECK(run.detect == 0);
  CHECK(run.slow == Approx(0.5 * kAnHour));
  CHECK(parts_of(run) == Approx(run.wall));
}

TEST_CASE("spot nodes are saved in their notice and not paid for while away", "[failures]") {
  FailureProcess spot = node_failure();
  spot.warned = spot.unpaid = true;
  spot.notice = 120;
  RunSetting s = ten_hours(spot, 1.5 * kAnHour, 1200);
  s.checkpoints = {100 * kAnHour, 30, 60};
  const RunSample run = sample_run(s, 1);
  // Taken at 5400 s, another comes at 6600 s, 300 s of restart; nothing is lost.
  CHECK(run.lost == 0);
  CHECK(run.wall == Approx(36000 + 1500));
  CHECK(run.held == Approx(run.wall - 1200 / 4.0));
  s.failures.front().notice = 80;  // shorter than a checkpoint takes
  const RunSample unsaved = sample_run(s, 1);
  CHECK(unsaved.lost == Approx(1.5 * kAnHour));
  CHECK(unsaved.detect == 0);
}

TEST_CASE("a lost site takes all of its nodes", "[failures]") {
  FailureProcess site = node_failure();
  site.takes = Takes::Site;
  RunSetting s = ten_hours(site, 1.5 * kAnHour, kAnHour, 1);
  s.fleet.sites = {{0}, {1, 2, 3}};
  std::size_t most = 0;
  s.fleet.goes_on = [&](const std::vector<int>& lost) {
    most = std::max(most, lost.size());
    return Degraded{1 - 0.25 * static_cast<double>(lost.size()), 0};
  };
  const RunSample run = sample_run(s, 1);
  CHECK(most == 3);
  CHECK(run.slow == Approx(0.75 * (kAnHour - 60)));
}

TEST_CASE("every second is accounted for, whatever breaks", "[failures]") {
  FailureProcess node = node_failure(), flap{"link", 5 * kAnHour}, slow{"slow", 9 * kAnHour};
  node.mtbf = 3 * kAnHour;
  node.shape = 0.7;
  node.lasts = kAnHour;
  flap.strike = Strike::Wait;
  flap.lasts = 40;
  slow.strike = Strike::Slow;
  slow.pace = 0.8;
  slow.lasts = 2 * kAnHour;
  slow.takes = Takes::Node;
  FailureProcess spot = node;
  spot.name = "spot";
  spot.warned = spot.unpaid = true;
  spot.notice = 100;
  RunSetting s{
      .work = 400 * kAnHour, .checkpoints = {1200, 20, 90}, .failures = {node, flap, slow, spot}};
  s.fleet.nodes = 4;
  s.fleet.step = 5;
  for (const bool elastic : {false, true}) {
    if (elastic) s.fleet.goes_on = half;
    const RunSample run = sample_run(s, 3, true);
    CHECK(parts_of(run) == Approx(run.wall).epsilon(1e-9));
    CHECK(run.held < run.wall);
    double end = 0, causes = 0;
    for (const RunSpan& span : run.spans) {
      REQUIRE(span.begin == Approx(end));
      end = span.end;
    }
    CHECK(end == Approx(run.wall));
    for (const RunCause& cause : run.causes) causes += cause.seconds;
    CHECK(causes == Approx(run.wall - run.work - run.checkpoint).epsilon(0.01));
    CHECK(sample_run(s, 3).wall == Approx(run.wall).epsilon(1e-9));
  }
}

TEST_CASE("the longest restart for 90 % of effective time of Llama 3's interruptions",
          "[failures]") {
  // 419 in 54 days (arXiv 2407.21783, section 3.3.4), by the standstill of a checkpoint.
  const double mtbf = 54 * 86400.0 / 419;
  CHECK(longest_restart(6, mtbf, 0.9) / 60 == Approx(13.4).margin(0.1));
  CHECK(longest_restart(30, mtbf, 0.9) / 60 == Approx(5.8).margin(0.1));
  CHECK(longest_restart(60, mtbf, 0.9) < 0);
  for (const double blocking : {1.0, 6.0, 15.0, 30.0}) {
    const double restart = longest_restart(blocking, mtbf, 0.9);
    const Checkpoints c{daly_interval(blocking, mtbf), blocking, 0};
    const FailureProcess any{"any", mtbf, 1, 0, restart};
    CHECK(exact_goodput(c, any) == Approx(0.9).epsilon(1e-9));
    const Estimate sampled = expected_goodput(54 * 86400.0, c, {any}, 200, 5);
    CHECK(sampled.value == Approx(0.9).margin(0.003));
  }
}

TEST_CASE("each cause is charged for what it adds to a stop", "[failures]") {
  FailureProcess stop{"job", 0, 1, 60, 3600}, other = stop, flap{"link"};
  other.name = "other";
  flap.strike = Strike::Wait;
  for (FailureProcess* p : {&stop, &other, &flap}) p->traced = true;
  RunSetting s{
      .work = 10 * kAnHour, .checkpoints = {kAnHour, 0, 0}, .failures = {stop, flap, other}};
  // A flap in the middle of the restart, and one while the job works.
  s.trace = {{1.5 * kAnHour, 0, -1, 0}, {1.7 * kAnHour, 1, -1, 2}, {9 * kAnHour, 1, -1, 2}};
  const RunSample flaps = sample_run(s, 1);
  CHECK(flaps.causes[0].seconds == Approx(3660 + 1800));
  CHECK(flaps.causes[1].seconds == Approx(2));
  CHECK(flaps.causes[1].count == 2);
  // Another stop 1000 s into the restart begins it anew: it adds those 1000 s.
  s.trace = {{1.5 * kAnHour, 0, -1, 0}, {1.5 * kAnHour + 1000, 2, -1, 0}};
  const RunSample twice = sample_run(s, 1, true);
  CHECK(twice.causes[0].seconds == Approx(3660 + 1800));
  CHECK(twice.causes[2].seconds == Approx(1000));
  CHECK(twice.wall == Approx(10 * kAnHour + 3660 + 1800 + 1000));
  CHECK(parts_of(twice) == Approx(twice.wall));
}

TEST_CASE("a node that waits for its repair is charged before what comes meanwhile", "[failures]") {
  RunSetting s = ten_hours(node_failure(), 1.5 * kAnHour, 2 * kAnHour);
  FailureProcess job{"job", 0, 1, 60, 300};
  job.traced = true;
  s.failures.push_back(job);
  s.trace.push_back({2 * kAnHour, 1, -1, 0});
  const RunSample run = sample_run(s, 1);
  CHECK(run.causes[0].seconds == Approx(7200 + 300 + 1800));
  CHECK(run.causes[1].seconds == Approx(0).margin(1e-6));
}

TEST_CASE("a slow node does not become slow again", "[failures]") {
  FailureProcess slow{"slow"};
  slow.strike = Strike::Slow;
  slow.pace = 0.5;
  slow.takes = Takes::Node;
  RunSetting s = ten_hours(slow, kAnHour, 4 * kAnHour);
  s.trace.push_back({2 * kAnHour, 0, 0, 40 * kAnHour});
  const RunSample run = sample_run(s, 1);
  CHECK(run.causes.front().count == 1);
  CHECK(run.slow == Approx(2 * kAnHour));
}

TEST_CASE("a run without an end says what failed, and which of two things is wrong", "[failures]") {
  FailureProcess job{"job", 1, 1, 0, 60}, flap{"link", 1};
  job.where = "f.yaml:3:4: failures.job_mtbf";
  flap.where = "f.yaml:5:6: failures.link_mtbf";
  flap.strike = Strike::Wait;
  flap.lasts = 1e-6;
  const auto run = [](const FailureProcess& p) {
    sample_run({.work = 1e9, .checkpoints = {kAnHour, 1, 0}, .failures = {p}}, 1);
  };
  CHECK_THROWS_WITH(run(job), StartsWith("f.yaml:3:4: failures.job_mtbf: the job does not get on"));
  CHECK_THROWS_WITH(run(flap), StartsWith("f.yaml:5:6: failures.link_mtbf: more than 1000000 "
                                          "failures in one run, after 0.1 % of its work"));
}

// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/simulate_jobs.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/unit/sim/jobs/jobs_helper.hpp"

using namespace paceline;
using namespace paceline::sim::jobs;
using tests::jobs_study;
using tests::kJobsHead;
using tests::outcome_of;

TEST_CASE("time, energy and cost of one job by hand", "[jobs]") {
  // Two stages in region a: a step is (4 + 1) x 1.5 s, of which each device works 6 s.
  const JobsOutcome outcome = outcome_of(
      kJobsHead + "egress: 1 USD/GB\njobs: [{kind: two, arrives: 5 s, steps: 240}]\n", "lcf");
  const JobRun& run = outcome.runs[0].at(0);
  CHECK(run.path == JobPath{{0, 2}});
  CHECK(run.start == 5);
  CHECK(run.finish == Approx(5 + 240 * 7.5));
  CHECK(run.joules == Approx(240 * 2 * (6 * 1000 + 1.5 * 500)));
  CHECK(run.cost.electricity == Approx(240 * 2 * 6750 / 3.6e6 * 0.1));
  CHECK(run.cost.egress == 0);
  CHECK(outcome.makespan == Approx(1800));
}

TEST_CASE("bytes between regions are counted and paid for", "[jobs]") {
  const std::string rest = "egress: 1 USD/GB\njobs: [{kind: k, steps: 10}]\n";
  const JobsOutcome outcome = outcome_of(kJobsHead + rest, "cr-lcf");
  const JobRun& run = outcome.runs[0].at(0);
  CHECK(run.path == JobPath{{0, 4}, {1, 8}});
  CHECK(run.hops.size() == 1);
  CHECK(run.hops[0].seconds == Approx(1e6 / 1e9));
  CHECK(run.demand == Approx(1e6 / (3.0 / 12)));
  CHECK(run.sent_bytes == Approx(10 * 2 * 4 * 1e6));
  CHECK(run.cost.egress == Approx(0.08));
  CHECK(run.cost.total() == Approx(run.cost.electricity + run.cost.rent + run.cost.egress));
}

TEST_CASE("the head of the queue holds up a job that would fit, unless others may overtake",
          "[jobs]") {
  const std::string jobs =
      "jobs:\n  - {name: long, kind: six, steps: 100}\n  - {name: wide, kind: six, arrives: 1 s, "
      "steps: 1}\n"
      "  - {name: small, kind: two, arrives: 2 s, steps: 1}\n";
  const JobsOutcome held = outcome_of(kJobsHead + jobs, "fcfs");
  CHECK(held.runs[2].at(0).start == Approx(held.runs[0].at(0).finish));
  const JobsOutcome free = outcome_of(kJobsHead + "queue: {backfill: true}\n" + jobs, "fcfs");
  CHECK(free.runs[2].at(0).start == 2);
  CHECK(free.runs[1].at(0).start == Approx(free.runs[0].at(0).finish));
}

TEST_CASE("the shortest job goes first", "[jobs]") {
  const std::string jobs =
      "jobs:\n  - {kind: six, steps: 10}\n  - {kind: six, steps: 100}\n  - {kind: six, steps: 1}\n";
  const JobsOutcome fair = outcome_of(kJobsHead + jobs, "fcfs");
  CHECK(fair.runs[1].at(0).start < fair.runs[2].at(0).start);
  const JobsOutcome shortest = outcome_of(kJobsHead + jobs, "shortest-first");
  CHECK(shortest.runs[2].at(0).start == 0);
  CHECK(shortest.runs[0].at(0).start == Approx(shortest.runs[2].at(0).finish));
  CHECK(shortest.runs[1].at(0).start == Approx(shortest.runs[0].at(0).finish));
}

TEST_CASE("a job that no region can take never starts, and holds up those behind it", "[jobs]") {
  const std::string jobs = "jobs:\n  - {kind: six, steps: 1}\n  - {kind: two, steps: 1}\n";
  std::string small = kJobsHead;
  small.replace(small.find("devices: 8"), 10, "devices: 5");
  const JobsOutcome outcome = outcome_of(small + jobs, "fcfs");
  CHECK_FALSE(outcome.complete());
  CHECK(outcome.runs[0].empty());
  CHECK(outcome.runs[1].empty());
  CHECK(outcome_of(small + jobs, "cr-lcf").complete());
  CHECK(outcome_of(small + "queue: {backfill: true}\n" + jobs, "fcfs").runs[1].size() == 1);
}

TEST_CASE("reserved devices are not given to jobs while they are", "[jobs]") {
  const std::string rest =
      "reserved:\n  - {region: a, devices: 4, from: 10 s, until: 100 s}\n"
      "jobs:\n  - {kind: two, steps: 4}\n  - {kind: two, arrives: 20 s, steps: 1}\n"
      "  - {kind: two, arrives: 200 s, steps: 1}\n";
  const JobsOutcome outcome = outcome_of(kJobsHead + rest, "lcf");
  CHECK(outcome.runs[0].at(0).path.front().region == 0);  // 30 s from 0 on: it is not stopped
  CHECK(outcome.runs[1].at(0).path.front().region == 1);
  CHECK(outcome.runs[2].at(0).path.front().region == 0);
}

TEST_CASE("anyone can write a placement: a function over the graph of regions", "[jobs]") {
  const JobPolicy dearest{{}, [](const RegionGraph& graph, const PlacementRequest& request) {
                            std::size_t best = 0;
                            for (std::size_t r = 1; r < boost::num_vertices(graph); ++r)
                              if (graph[r].price > graph[best].price) best = r;
                            const int stages = request.usable(free_stages(graph[best], request));
                            return stages > 0 ? JobPath{{best, stages}} : JobPath{};
                          }};
  const auto study = jobs_study(kJobsHead + "jobs: [{kind: two, steps: 1}]\n");
  CHECK(outcome_of(study.base(), dearest).runs[0].at(0).path == JobPath{{1, 2}});
}

TEST_CASE("no job is lost or runs twice, and what regions give is what jobs hold", "[jobs]") {
  const models::JobsStudy study = jobs_study(kJobsHead + R"(random:
  instances: 6
  devices: [6, 8, 20]
  uplink: [1 Mb/s, 1 Gb/s]
  shuffle_prices: true
  jobs: 12
  gap: 20 s
  tokens: [40, 400, 20000]
)");
  const models::JobsFile& file = study.base();
  JobSteps steps(file, 40);
  for (int i = 0; i < 6; ++i) {
    const models::JobsInstance instance = models::draw(file, i);
    for (const JobPolicyEntry& entry : job_policies()) {
      INFO(entry.name << " " << i);
      const JobsOutcome outcome = simulate_jobs(file, instance, steps, entry.make());
      CHECK(outcome.complete());  // its own laws are checked as it runs
      double held = 0, joules = 0, used = 0, energy = 0, cost = 0;
      for (const auto& runs : outcome.runs) {
        CHECK(runs.size() == 1);
        int stages = 0;
        for (const PathPart& part : runs[0].path) stages += part.stages;
        CHECK(runs[0].device_seconds == Approx(stages * (runs[0].finish - runs[0].start)));
        held += runs[0].device_seconds;
        joules += runs[0].joules;
        cost += runs[0].cost.total();
      }
      for (const RegionUse& use : outcome.regions) {
        used += use.device_seconds;
        energy += use.joules;
      }
      CHECK(used == Approx(held));
      CHECK(energy == Approx(joules));
      CHECK(cost == Approx(outcome.cost.total()));
    }
  }
}

TEST_CASE("what one assumption draws does not move what another does", "[jobs]") {
  const std::string random =
      "random: {instances: 3, devices: [4, 8], jobs: 9, gap: 10 s, tokens: [40, 400]}\n";
  const auto study = jobs_study(kJobsHead + random +
                                "vary: [{name: x, with: {random: {gap: 20 s, devices: [4]}}}]\n");
  for (int i = 0; i < 3; ++i) {
    const auto one = models::draw(study.base(), i), same = models::draw(study.base(), i);
    const auto other = models::draw(study.variants[1].file, i);
    for (std::size_t j = 0; j < 9; ++j) {
      CHECK(one.jobs[j].arrives == same.jobs[j].arrives);
      CHECK(other.jobs[j].arrives == Approx(2 * one.jobs[j].arrives));
      CHECK(other.jobs[j].kind == one.jobs[j].kind);
      CHECK(other.jobs[j].steps == one.jobs[j].steps);
    }
  }
}

TEST_CASE("results do not depend on the number of threads", "[jobs]") {
  const auto study =
      jobs_study(kJobsHead + "random: {instances: 5, jobs: 6, gap: 10 s, tokens: [40, 4000]}\n");
  const JobsResult one = run_jobs(study, {.threads = 1}), three = run_jobs(study, {.threads = 3});
  CHECK(one.variants[0].figures == three.variants[0].figures);
}

TEST_CASE("a job of a higher tier stops one of a lower tier, which saves, fetches and goes on",
          "[jobs]") {
  std::string head = kJobsHead;
  head.replace(head.find("{name: six,"), 11, "{name: six, state: 10 GB,");
  head.replace(head.find("{name: two,"), 11, "{name: two, state: 10 GB,");
  head.replace(head.find("{name: k,"), 9, "{name: k, state: 10 GB,");
  const std::string jobs =
      "jobs:\n  - {kind: six, steps: 100}\n  - {kind: six, arrives: 45 s, steps: 10, tier: 1}\n";
  // A step takes (4 + 5) x 0.5 s: after 45 s ten steps are done.
  const auto outcome =
      outcome_of(head + "queue: {preempt: true, storage: 1 GB/s}\n" + jobs, "fcfs");
  REQUIRE(outcome.runs[0].size() == 2);
  const JobRun &before = outcome.runs[0][0], &rest = outcome.runs[0][1];
  CHECK(before.steps == Approx(10));
  CHECK(before.save == Approx(10));
  CHECK(before.finish == Approx(55));
  CHECK(outcome.runs[1].at(0).start == Approx(55));
  CHECK(outcome.runs[1].at(0).fetch == 0);
  CHECK(rest.start == Approx(55 + 45));
  CHECK(rest.fetch == Approx(10));
  CHECK(rest.steps == Approx(90));
  CHECK(rest.finish == Approx(100 + 10 + 90 * 4.5));
  CHECK(outcome.complete());
  // Without the permission, and among equals, nobody is stopped.
  CHECK(outcome_of(head + jobs, "fcfs").runs[0].size() == 1);
  std::string equal = jobs;
  equal.replace(equal.find("tier: 1"), 7, "tier: 0");
  CHECK(outcome_of(head + "queue: {preempt: true, storage: 1 GB/s}\n" + equal, "fcfs")
            .runs[0]
            .size() == 1);
}

TEST_CASE("a stopped job fetches its state over the link where it goes on elsewhere", "[jobs]") {
  std::string head = kJobsHead;
  for (const char* kind : {"six", "two", "k"}) {
    const std::string begin = "{name: " + std::string(kind) + ",";
    head.replace(head.find(begin), begin.size(), begin + " state: 10 GB,");
  }
  // The first holds all of b until the second, which only b can take, stops it; a has room.
  const auto outcome = outcome_of(
      head +
          "egress: 1 USD/GB\nqueue: {preempt: true, storage: 100 GB/s}\n"
          "jobs:\n  - {kind: k, steps: 100}\n  - {kind: six, arrives: 10 s, steps: 100, tier: 2}\n",
      "ldf");
  REQUIRE(outcome.runs[0].size() == 2);
  CHECK(outcome.runs[0][0].path == JobPath{{1, 8}});
  CHECK(outcome.runs[0][1].path == JobPath{{0, 4}});
  CHECK(outcome.runs[0][1].fetch == Approx(10));  // 10 GB at 8 Gb/s
  CHECK(outcome.runs[0][1].sent_bytes == Approx(10e9));
  CHECK(outcome.runs[0][1].cost.egress == Approx(10));
  CHECK(outcome.runs[1].at(0).path == JobPath{{1, 6}});
}

TEST_CASE("a running job moves to more devices where that ends it earlier", "[jobs]") {
  std::string head = kJobsHead;
  for (const char* kind : {"six", "two", "k"}) {
    const std::string begin = "{name: " + std::string(kind) + ",";
    head.replace(head.find(begin), begin.size(), begin + " state: 1 GB,");
  }
  const std::string jobs =
      "jobs:\n  - {kind: six, steps: 10}\n  - {kind: k, arrives: 1 s, steps: 100}\n";
  const auto still = outcome_of(head + jobs, "ldf");
  CHECK(still.runs[1].at(0).path == JobPath{{0, 4}});
  const auto moved = outcome_of(head + "queue: {resize: true, storage: 1 GB/s}\n" + jobs, "ldf");
  REQUIRE(moved.runs[1].size() == 2);
  CHECK(moved.runs[1][1].path == JobPath{{1, 8}});
  CHECK(moved.runs[1][0].steps + moved.runs[1][1].steps == Approx(100));
  CHECK(moved.runs[1].back().finish < still.runs[1].at(0).finish);
  // A storage so slow that nothing is gained moves nobody.
  CHECK(
      outcome_of(head + "queue: {resize: true, storage: 1 MB/s}\n" + jobs, "ldf").runs[1].size() ==
      1);
}

TEST_CASE("rented devices cost their rent alone, owned ones electricity", "[jobs]") {
  std::string rented = kJobsHead;
  rented.replace(rented.find("devices: 4,"), 11, "devices: 4, device_hour: 0.01 USD/h,");
  const auto outcome = outcome_of(rented + "jobs: [{kind: two, steps: 240}]\n", "lcf");
  const JobRun& run = outcome.runs[0].at(0);
  CHECK(run.path == JobPath{{0, 2}});
  CHECK(run.cost.electricity == 0);
  CHECK(run.cost.rent == Approx(0.01 * 2 * run.finish / 3600));
  CHECK(run.joules > 0);
}

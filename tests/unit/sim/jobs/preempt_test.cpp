// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "base/error.hpp"
#include "tests/unit/sim/jobs/jobs_helper.hpp"

using namespace paceline;
using namespace paceline::sim::jobs;
using tests::jobs_study;
using tests::outcome_of;

namespace {

/// Two regions; `thin` takes one device, `wide` all of a region; their states save at different
/// times.
std::string tiers_head(const std::string& queue) {
  return R"(name: tiers
regions:
  - {name: a, devices: 8, electricity: 0.1 USD/kWh, uplink: 8 Gb/s}
  - {name: b, devices: 6, electricity: 0.2 USD/kWh, uplink: 8 Gb/s}
power: {active: 1 kW, idle: 500 W}
work: {microbatches: 4, sequence: 10, split: any}
kinds:
  - {name: thin, forward: 1 s, activation: 1 MB, most: 1, state: 1 MB}
  - {name: half, forward: 1 s, activation: 1 MB, least: 2, most: 4, state: 100 GB}
  - {name: wide, forward: 1 s, activation: 1 MB, least: 6, most: 8, state: 1 GB}
)" + queue +
         "\n";
}

std::string random_tiers(unsigned seed) {
  std::mt19937 draw(seed);
  std::string text = "jobs:\n";
  const char* kinds[] = {"thin", "half", "wide"};
  int arrives = 0;
  for (int j = 0; j < 14; ++j) {
    arrives += static_cast<int>(draw() % 30);
    text += "  - {kind: " + std::string(kinds[draw() % 3]) +
            ", arrives: " + std::to_string(arrives) +
            " s, steps: " + std::to_string(1 + draw() % 60) +
            ", tier: " + std::to_string(draw() % 4) + "}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a stopped job starts again only after the one it was stopped for", "[jobs]") {
  // `wide` needs all of a; half saves for 100 s, thin for 1 ms, and would fit in between.
  std::string head = tiers_head("queue: {backfill: true, preempt: true, storage: 1 GB/s}");
  head.replace(head.find("devices: 6"), 10, "devices: 1");
  head.replace(head.find("least: 6"), 8, "least: 8");
  const auto outcome =
      outcome_of(head +
                     "jobs:\n  - {kind: half, steps: 1000}\n  - {kind: thin, steps: 1000}\n"
                     "  - {kind: thin, steps: 1000}\n"
                     "  - {kind: wide, arrives: 10 s, steps: 10, tier: 1}\n",
                 "ldf");
  REQUIRE(outcome.complete());
  const double start = outcome.runs[3].at(0).start;
  CHECK(start == Approx(110));
  int stopped = 0;
  for (std::size_t j = 0; j < 3; ++j) {
    if (outcome.runs[j].size() < 2) continue;
    ++stopped;
    CHECK(outcome.runs[j].size() == 2);
    CHECK(outcome.runs[j][1].start >= start);
  }
  CHECK(stopped == 3);
}

TEST_CASE("whatever jobs stop each other, they end after a bounded number of stops", "[jobs]") {
  for (const char* rest : {"", ", resize: true"})
    for (unsigned seed = 0; seed < 25; ++seed) {
      const auto study =
          jobs_study(tiers_head("queue: {backfill: true, preempt: true, storage: 1 GB/s" +
                                std::string(rest) + "}") +
                     random_tiers(seed));
      const models::JobsFile& file = study.base();
      for (const JobPolicyEntry& entry : job_policies()) {
        INFO(entry.name << " " << seed << rest);
        const JobsOutcome outcome = outcome_of(file, entry.make());
        CHECK(outcome.complete());
        for (std::size_t j = 0; j < file.jobs.size(); ++j) {
          const auto above = static_cast<std::size_t>(
              std::count_if(file.jobs.begin(), file.jobs.end(),
                            [&](const auto& other) { return other.tier > file.jobs[j].tier; }));
          // Between two arrivals or ends each one above stops it once, and it moves once.
          const std::size_t changes = 2 * file.jobs.size();
          CHECK(outcome.runs[j].size() <= 1 + changes * (above + (rest[0] != 0 ? 1 : 0)));
          if (above == 0 && rest[0] == 0) CHECK(outcome.runs[j].size() == 1);
        }
      }
    }
}

TEST_CASE("more stops than a file may have end with one line", "[jobs]") {
  // Eleven jobs, each stopped by each of 9,900.
  std::string head = tiers_head("queue: {preempt: true, backfill: true, storage: 1 GB/s}");
  head.replace(head.find("devices: 8"), 10, "devices: 12");
  head.replace(head.find("least: 6, most: 8"), 17, "least: 12, most: 12");
  std::string jobs = "jobs:\n";
  for (int j = 0; j < 18; ++j) jobs += "  - {kind: thin, steps: 10000000}\n";
  for (int j = 1; j <= 9900; ++j)
    jobs += "  - {kind: wide, arrives: " + std::to_string(30 * j) + " s, steps: 1, tier: 1}\n";
  const auto study = jobs_study(head + jobs);
  try {
    outcome_of(study.base(), job_policy("lcf"));
    FAIL("it ends");
  } catch (const base::Error& error) {
    const std::string text = error.what();
    CHECK(text.find("test.yaml:11:") != std::string::npos);
    CHECK(text.find("100000 times") != std::string::npos);
  }
}

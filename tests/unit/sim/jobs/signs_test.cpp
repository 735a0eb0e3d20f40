// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/run_jobs.hpp"

using namespace paceline;

// What the study of BACE-Pipe expects, with the one variant that turns the paradox round: medians
// over its instances.
TEST_CASE(
    "priority and pathfinder shorten completion; more regions do only without a cap by layers",
    "[jobs]") {
  models::JobsStudy study =
      models::read_jobs(PACELINE_SOURCE "/scenarios/systems/bace-pipe/jobs.yaml");
  const auto other = [](const models::JobsVariant& variant) {
    return !variant.name.empty() && variant.name != "whole layers";
  };
  study.variants.erase(std::remove_if(study.variants.begin(), study.variants.end(), other),
                       study.variants.end());
  REQUIRE(study.variants.size() == 2);
  REQUIRE(study.expect.size() >= 9);
  const sim::jobs::JobsResult result = sim::jobs::run_jobs(study);
  for (std::size_t e = 0; e < study.expect.size(); ++e) {
    INFO(study.expect[e].text << " " << study.expect[e].variant);
    CHECK(result.expected[e].values.size() == 24);
    CHECK(result.expected[e].holds);
  }
}

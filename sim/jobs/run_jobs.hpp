// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/simulate_jobs.hpp"

/// Every instance of every variant of a file under every policy.
namespace paceline::sim::jobs {

/// Median over instances, and the range that leaves out the lowest and the highest tenth.
struct JobsSpread {
  double median = 0, low = 0, high = 0;
};
JobsSpread jobs_spread(std::vector<double> values);  ///< of at least one value

struct VariantResult {
  /// By instance and policy; nothing where a job never starts.
  std::vector<std::vector<std::optional<JobFigures>>> figures;
  std::int64_t simulated_steps = 0, asked_steps = 0;
};

/// Of one comparison or expectation over the instances in which it has a value.
struct JobsVerdict {
  std::vector<double> values;
  JobsSpread spread;
  double inside = 0;   ///< share of values within the published range; of expectations, the bounds
  bool holds = false;  ///< expectations: the median lies within the bounds
};

struct JobsResult {
  std::vector<VariantResult> variants;
  std::vector<std::vector<JobsVerdict>> compared;  ///< by variant and comparison
  std::vector<JobsVerdict> expected;
  /// The first instance of the file as it stands, by policy.
  models::JobsInstance instance;
  std::vector<JobsOutcome> outcomes;

  bool all_hold() const;
};

struct RunJobsOptions {
  int threads = 0;  ///< 0: one a processor; results do not depend on it
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

JobsResult run_jobs(const models::JobsStudy& study, const RunJobsOptions& options = {});

}  // namespace paceline::sim::jobs

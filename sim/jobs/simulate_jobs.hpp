// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/jobs/drawn.hpp"
#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/job_step.hpp"
#include "sim/jobs/policy.hpp"

/// The outer simulation: jobs arrive, wait, run and leave under a policy.
namespace paceline::sim::jobs {

/// USD of a job, in parts that add up.
struct JobCost {
  double electricity = 0, rent = 0, egress = 0;
  double total() const { return electricity + rent + egress; }
};

/// A job on one placement, from its start to its end or until it was stopped.
struct JobRun {
  double start = 0, finish = 0;  ///< s, with fetching and saving of its state
  double fetch = 0, save = 0;    ///< s of them
  double steps = 0;              ///< done
  JobPath path;
  std::vector<Hop> hops;  ///< between the parts of its path
  double step_seconds = 0;
  double device_seconds = 0;
  double joules = 0;             ///< of devices, without the building's share
  double sent_bytes = 0;         ///< between regions
  double demand = 0;             ///< bytes/s it would carry over each of its links, each way
  std::vector<double> reserved;  ///< of them, what the links had left
  JobCost cost;
};

struct RegionUse {
  double device_seconds = 0;  ///< held by jobs
  double joules = 0;
  double cost = 0;  ///< electricity or rent, USD
};

struct JobsOutcome {
  std::vector<std::vector<JobRun>> runs;  ///< by job, one after another; empty: it never starts
  std::vector<bool> done;                 ///< by job: it has run all its steps
  std::vector<int> least_devices;         ///< by job: it runs on no fewer; 0: on no number of them
  std::vector<RegionUse> regions;
  double makespan = 0;  ///< s, from the first arrival to the last end
  JobCost cost;

  bool complete() const;
};

/// Stops of running jobs in one instance, to make room or to move, at most.
inline constexpr int kMaxStops = 100'000;

/// Runs the jobs of an instance under a policy. Deterministic; base::Error at `queue` for more than
/// kMaxStops. Checks its own laws
/// (PACELINE_CHECK): time does not go back, no device or link carries more than there is, every job
/// does its steps once and after it arrives, what jobs hold is what regions give, costs are the sum
/// of their parts.
JobsOutcome simulate_jobs(const models::JobsFile& file, const models::JobsInstance& instance,
                          JobSteps& steps, const JobPolicy& policy);

/// The figures of models::kJobFigures, in their order; nothing where a job does not end. Queueing
/// is all time in which a job does not run.
using JobFigures = std::array<double, models::kJobFigures.size()>;
std::optional<JobFigures> figures_of(const models::JobsInstance& instance,
                                     const JobsOutcome& outcome);

}  // namespace paceline::sim::jobs

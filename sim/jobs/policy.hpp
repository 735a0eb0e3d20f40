// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/placement.hpp"

/// Who is served next, and where.
namespace paceline::sim::jobs {

/// A job that waits.
struct QueuedJob {
  std::size_t job = 0;
  double arrives = 0;  ///< s
  double work = 0;     ///< s of one device that the steps it has left take
  double run = 0;      ///< s it would take on the most stages it can use, in one region
  double demand = 0;   ///< bytes/s of a link on as many
  int tier = 0;        ///< no policy has to look at it: higher tiers are served first
};

/// A number for each waiting job, the highest first and among equals who came first. `congestion`:
/// reserved share of all links. Empty: everyone by arrival.
using PriorityFunction =
    std::function<std::vector<double>(std::span<const QueuedJob> queue, double congestion)>;

struct JobPolicy {
  PriorityFunction priority;
  PlacementFunction place;
};

#define PACELINE_JOB_POLICY(function, name, summary) JobPolicy function();
#include "models/jobs/policies.def"
#undef PACELINE_JOB_POLICY

struct JobPolicyEntry {
  std::string_view name, summary;
  JobPolicy (*make)();
};
/// All of policies.def, in its order.
std::span<const JobPolicyEntry> job_policies();
JobPolicy job_policy(std::string_view name);  ///< base::Error for a name that is none

}  // namespace paceline::sim::jobs

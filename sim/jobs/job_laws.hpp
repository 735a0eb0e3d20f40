// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/jobs/simulate_jobs.hpp"

/// What must hold of every outcome, whatever the policy: broken invariants are ours and abort.
namespace paceline::sim::jobs {

/// A path of a placement: worth having, within what is free, over links, each region once.
void check_path(const RegionGraph& graph, const JobPath& path, const PlacementRequest& request);

/// `integral`: device-seconds by region, summed up while the clock ran.
void check_outcome(const models::JobsFile& file, const models::JobsInstance& instance,
                   const JobsOutcome& outcome, const std::vector<double>& integral);

}  // namespace paceline::sim::jobs

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/jobs/simulate_jobs.hpp"

namespace paceline::sim::jobs {

/// What the last run of a job used, when it has ended: writes device-seconds, energy, bytes and
/// cost of the run, and adds them to the regions. Devices of a job are taken to be busy alike,
/// wherever they are; fetching and saving a state is waiting.
void account(const models::JobsFile& file, const models::JobsInstance& instance, std::size_t job,
             const StepCost& step, JobsOutcome& outcome);

/// Sums the runs up, when all have ended.
void sum_up(const models::JobsInstance& instance, JobsOutcome& outcome);

/// All regions and links free. The price of a region is its rent, else what a working device's
/// electricity costs there.
RegionGraph region_graph(const models::JobsFile& file, const models::JobsInstance& instance);

}  // namespace paceline::sim::jobs

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/jobs/simulate_jobs.hpp"

namespace paceline::sim::jobs {

/// What the last run of a job used, when it has ended: writes device-seconds, energy, bytes and
/// cost of the run, and adds them to the regions. Devices of a job are taken to be busy alike,
/// wherever they are; fetching and saving a state is waiting.
void account(const models::JobsFile& file, const models::JobsInstance& instance, std::size_t job,
             const StepCost& step, JobsOutcome& outcome);

}  // namespace paceline::sim::jobs

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/jobs/jobs_file.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/jobs/job_step.hpp"

namespace paceline::sim::jobs {

/// The kind's scenario on as many stages as `parts` say, each part a site. `hops` by two
/// neighbours: a message of kind.activation takes its seconds.
models::Scenario scenario_on(const models::JobKind& kind, const std::vector<int>& parts,
                             const std::vector<Hop>& hops);

/// What `predict` says of it; seconds 0 where it does not fit into memory. Devices count as busy as
/// the busiest of them.
StepCost scenario_step(const models::JobKind& kind, const std::vector<int>& parts,
                       const std::vector<Hop>& hops);

}  // namespace paceline::sim::jobs

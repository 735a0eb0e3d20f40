// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/result.hpp"

namespace paceline::sim {

/// Parts of RunOutlook::sample_work.
inline constexpr int kSampleParts = 60;

/// What failures and checkpoints make of the run: sampled (sim/outer/failures.hpp) from the
/// scenario's `failures`, with the bytes of weights and optimizer states as checkpoint. Needs the
/// run's time, and its money where that is said. Nodes that failed are paid for, those that spot
/// took away are not.
void add_outlook(const models::Scenario& scenario, const models::Plan& plan, Result& result);

}  // namespace paceline::sim

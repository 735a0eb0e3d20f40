// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/result.hpp"

namespace paceline::sim {

/// Bytes of a checkpoint: of all parameters of the model once, weights, master weights and moments.
double saved_bytes(const models::Scenario& scenario);

/// What failures and checkpoints make of the run: sampled (sim/outer/failures.hpp) from the
/// scenario's `failures`, with the bytes of weights and optimizer states as checkpoint. Needs the
/// run's time, and its money where that is said.
void add_outlook(const models::Scenario& scenario, Result& result);

}  // namespace paceline::sim

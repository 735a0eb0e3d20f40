// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/outer/failures.hpp"
#include "sim/result.hpp"

/// What a checkpoint costs a job.
namespace paceline::sim {

/// Of all parameters of the model, once: weights, master weights and moments.
double saved_bytes(const models::Scenario& scenario);

/// Until every node has copied its part of `bytes` to its memory, s: at the rate of its devices'
/// ways to the host, and where `failures.buffer` is full, at that of the storage.
double copy_seconds(const models::Scenario& scenario, double bytes);

/// How long a checkpoint stops the job and when it can be used, as `failures.mode` says. `lazy`
/// stops it for what the copies take beyond forward and backward of a step, the rest of which is
/// the update (DataStates-LLM, arXiv 2406.10707, section on lazy copies). The interval is what the
/// scenario says, at least a step, or Daly's optimum for failures every `mtbf` seconds (0: never),
/// then at least until the last one is written; where the scenario says less, the job waits for it.
Checkpoints checkpoints_of(const models::Scenario& scenario, const Result& result, double mtbf);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"

namespace paceline::sim {

/// Adds passes O (activations of a stage and microbatch leave the device after F) and L (they come
/// back before the backward) for `share` of what each rank stores. What waits longest for its
/// backward, counted in actions, is moved first (PipeOffload, arXiv 2503.01328, section 3); what is
/// needed within two actions stays. L is issued one action ahead, so that the copy runs beside it.
void add_offload(Program& program, double share);

}  // namespace paceline::sim

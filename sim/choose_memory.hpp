// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"

namespace paceline::sim {

/// `recompute: auto` and `offload: auto` decided: of none, selective, a quarter, half and three
/// quarters of the layers (blockwise) and full, and of 0, 25, 50, 75 and 100 % of the activations
/// offloaded, the pair with the shortest step on the reference engine whose peak stays below
/// scenario.memory_limit (the device's memory where it is 0); where none does, the pair with the
/// smallest peak. The choice is added to the assumptions.
models::Scenario choose_memory(const models::Scenario& scenario);

}  // namespace paceline::sim

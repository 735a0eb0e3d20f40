// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/result.hpp"

namespace paceline::sim {

/// Cost of a step and of the run from its time, devices, energy and bytes between workers. Needs
/// everything else of the result.
void add_money(const models::Scenario& scenario, Result& result);

}  // namespace paceline::sim

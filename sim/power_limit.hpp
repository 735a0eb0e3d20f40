// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

/// Power caps, and clocks that cost no time.
namespace paceline::sim {

/// `power.cap` turned into a clock for each node group: the step is predicted without it once, and
/// the rank class of the group that draws most while its devices are busy gets the highest clock at
/// which that mean is the cap. The choice is added to the assumptions.
models::Scenario under_power_cap(const models::Scenario& scenario);

/// A clock for every pass, as low as leaves the step its length, as Perseus has them (Chung et al.,
/// SOSP 2024): with M the length of the step and L the longest way through a pass, its matrix
/// kernels may take M / L times as long; on no way do they then add up to more than M. Not below
/// the clock at which the voltage is lowest (models::kClockShares), and only where it saves energy.
/// The engine confirms the length of the step.
SlackClocks slack_clocks(const models::Scenario& scenario, const TaskGraph& graph,
                         const EngineOptions& engine);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

/// Power caps, and clocks that cost no time.
namespace paceline::sim {

/// `power.cap` turned into a clock for each node group: the highest at which the rank class that
/// draws most has the cap as its mean power while it is busy, found over three predictions. The
/// choice is added to the assumptions.
models::Scenario under_power_cap(const models::Scenario& scenario);

/// A clock for every pass, as low as leaves the step its length, as Perseus has them (Chung et al.,
/// SOSP 2024): with M the length of the step and L the longest way through a pass, its matrix
/// kernels may take M / L times as long; on no way do they then add up to more than M. Not below
/// the clock at which the voltage is lowest (models::kClockShares), and only where it saves energy.
/// The engine confirms the length of the step.
SlackClocks slack_clocks(const models::Scenario& scenario, const TaskGraph& graph,
                         const EngineOptions& engine);

/// Takes what is saved off the energy of a step that long.
void take_slack(SlackClocks slack, double step_seconds, Energy& energy);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/recovery/recovery.hpp"

namespace paceline::sim {

/// ReCycle (SOSP 2024, arXiv 2405.14009): the microbatches that a lost stage of a replica would
/// have done go to the stage's other replicas, whole ones: each then does ceil(m dp / (dp - k)) of
/// them. Backward passes are decoupled and optimizer steps staggered, so that the pipeline's idle
/// time takes them: a 1F1B schedule becomes zb-h1 without a norm barrier, where that fits; other
/// schedules stay as they are.
DegradedWays recycle(const models::Scenario& scenario, const models::Plan& plan, const Lost& lost) {
  const int dp = scenario.parallel.dp, most = lost.cells.front();
  if (most >= dp) return {};
  DegradedStep step{.scenario = without_failures(scenario)};
  step.regroup = scenario.failures->edit;
  if (most == 0) return {step};
  const double own = plan.microbatches;
  step.load.assign(lost.cells.size(), 1.0);
  step.load.front() = std::ceil(own * dp / (dp - most) - 1e-9) / own;
  if (scenario.schedule.name != "1f1b" || scenario.parallel.pp == 1) return {step};
  DegradedStep decoupled = step;
  decoupled.scenario.schedule.name = "zb-h1";
  decoupled.scenario.optimizer.norm_barrier = false;
  return {decoupled, step};
}

}  // namespace paceline::sim

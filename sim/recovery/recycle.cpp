// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/recovery/recovery.hpp"

namespace paceline::sim {

/// ReCycle (SOSP 2024, arXiv 2405.14009): the microbatches that a lost stage of a replica would
/// have done go to the stage's other replicas, whole ones: each then does ceil(m dp / (dp - k)) of
/// them. Backward passes are decoupled and optimizer steps staggered, so that the pipeline's idle
/// time takes them: a 1F1B schedule becomes zb-h1, which holds no more, without a norm barrier;
/// other schedules stay as they are.
std::optional<DegradedStep> recycle(const models::Scenario& scenario, const models::Plan& plan,
                                    const Lost& lost) {
  const int dp = scenario.parallel.dp, most = lost.cells.front();
  if (most >= dp) return std::nullopt;
  DegradedStep step{.scenario = without_failures(scenario)};
  step.regroup = scenario.failures->edit;
  if (most == 0) return step;
  if (scenario.schedule.name == "1f1b" && scenario.parallel.pp > 1) {
    step.scenario.schedule.name = "zb-h1";
    step.scenario.optimizer.norm_barrier = false;
  }
  const double own = plan.microbatches;
  step.load.assign(lost.cells.size(), 1.0);
  step.load.front() = std::ceil(own * dp / (dp - most) - 1e-9) / own;
  return step;
}

}  // namespace paceline::sim

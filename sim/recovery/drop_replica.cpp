// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/recovery/recovery.hpp"

namespace paceline::sim {

/// Per-step fault tolerance of replicas (TorchFT): the quorum goes on without those that lost
/// something, with their share of the batch gone: (dp - k) / dp of the tokens in a step of the
/// replicas that are left. A replica that comes back takes its states from another beside their
/// steps.
DegradedWays drop_replica(const models::Scenario& scenario, const models::Plan& /*plan*/,
                          const Lost& lost) {
  const models::Parallel& p = scenario.parallel;
  const int left = p.dp - lost.replicas * std::max(1, p.shard);
  if (left < 1) return {};
  DegradedStep step{.scenario = without_failures(scenario)};
  step.scenario.parallel.dp = left;
  step.scenario.batch.global = scenario.batch.global / p.dp * left;
  step.share = static_cast<double>(left) / p.dp;
  step.regroup = scenario.failures->edit;
  return {step};
}

}  // namespace paceline::sim

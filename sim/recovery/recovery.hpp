// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"

/// What becomes of a step when nodes are away and the job goes on.
namespace paceline::sim {

/// What nodes take with them. A cell is the ranks of one stage in one replica.
struct Lost {
  /// Replicas that lost a cell; where `shard` ranks share one set of shards, they are one.
  int replicas = 0;
  /// By pipeline rank: cells lost, the most first: which ranks they are is not told apart.
  std::vector<int> cells;
  bool operator==(const Lost&) const = default;
};

/// The cells of nodes. A stage counts as lost in a replica when any of its ranks is.
Lost lost_with(const models::Scenario& scenario, const models::Plan& plan,
               const std::vector<int>& nodes);

/// A step that can be predicted as any other.
struct DegradedStep {
  models::Scenario scenario;
  /// By pipeline rank: as many times as much work as it has otherwise; empty: none has more.
  std::vector<double> load{};
  double share = 1;    ///< of the tokens of a whole step that it trains
  double regroup = 0;  ///< s the job stands until it goes on
};

/// Ways of going on: the fastest that fits into memory is taken. Empty where there is none.
using DegradedWays = std::vector<DegradedStep>;
using RecoveryFunction = DegradedWays (*)(const models::Scenario& scenario,
                                          const models::Plan& plan, const Lost& lost);

#define PACELINE_RECOVERY(function, name, traits, summary)                          \
  DegradedWays function(const models::Scenario& scenario, const models::Plan& plan, \
                        const Lost& lost);
#include "models/scenario/recoveries.def"
#undef PACELINE_RECOVERY

/// Of the scenario's `failures.recovery`.
RecoveryFunction recovery_of(const models::RecoveryPolicy& policy);

/// What all policies change: nothing fails, varies or is paid for in the degraded step itself.
models::Scenario without_failures(const models::Scenario& scenario);

/// Layers of each stage, as many as in `before` in all, so that max (layers + ends) x load is least
/// (minimax by dynamic programming). `load` and `ends` by stage: times as much work, and what it
/// does beside its layers, in layers.
std::vector<int> balanced_layers(int layers, const std::vector<double>& load,
                                 const std::vector<double>& ends);

/// Most layers that a stage gets which it did not hold before.
int most_moved(const std::vector<int>& before, const std::vector<int>& after);

}  // namespace paceline::sim

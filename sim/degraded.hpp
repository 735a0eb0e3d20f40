// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/outer/failures.hpp"
#include "sim/result.hpp"

namespace paceline::sim {

struct Lost;

/// Steps of a job that lacks nodes, or has slow ones: each kind is predicted as any other step,
/// once.
class DegradedSteps {
 public:
  /// `whole`: of the scenario, without anything lost.
  DegradedSteps(const models::Scenario& scenario, const models::Plan& plan, const Result& whole);

  /// By the nodes that are away. Pace 0: it cannot go on, or no longer fits into memory.
  Degraded without(const std::vector<int>& nodes);
  /// Mean over the nodes, each away alone.
  OneLost one_lost(int nodes);
  /// Pace while one node takes `factor` times as long: mean over the nodes.
  double with_slow_node(double factor, int nodes);

  int predicted() const { return static_cast<int>(known_.size()); }

 private:
  models::Scenario scenario_;
  models::Plan plan_;
  double step_ = 0;  ///< s of the whole job, as the reference engine says; 0: not yet known
  bool fits_;
  std::map<std::string, Degraded> known_;
  double whole_step();
  Degraded predict_without(const Lost& lost);
};

}  // namespace paceline::sim

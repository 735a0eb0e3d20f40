// SPDX-License-Identifier: Apache-2.0
#include "sim/degraded.hpp"

#include <algorithm>

#include "sim/predict.hpp"
#include "sim/recovery/recovery.hpp"

namespace paceline::sim {
namespace {

/// What of a loss its policy looks at.
std::string key_of(const Lost& lost, models::LostMatters depends) {
  switch (depends) {
    case models::LostMatters::Replicas:
      return std::to_string(lost.replicas);
    case models::LostMatters::Worst:
      return std::to_string(lost.cells.front());
    case models::LostMatters::Cells:
      break;
  }
  std::string key;
  for (const int cells : lost.cells) key += std::to_string(cells) + ",";
  return key;
}

}  // namespace

DegradedSteps::DegradedSteps(const models::Scenario& scenario, const models::Plan& plan,
                             const Result& whole)
    : scenario_(scenario), plan_(plan), fits_(whole.fits()) {
  if (whole.engine == "reference") step_ = whole.step_time;
}

/// Degraded steps are the reference engine's, so must be what they are compared with.
double DegradedSteps::whole_step() {
  if (step_ == 0) step_ = predict(without_failures(scenario_)).result.step_time;
  return step_;
}

Degraded DegradedSteps::predict_without(const Lost& lost) {
  const DegradedWays ways = recovery_of(*scenario_.failures->recovery)(scenario_, plan_, lost);
  if (lost.replicas == 0 && !ways.empty()) return {1, ways.front().regroup};
  Degraded best{0, 0};
  for (const DegradedStep& step : ways) {
    const Result r = predict(step.scenario, {.load = step.load}).result;
    if (fits_ && !r.fits()) continue;
    // Nothing is faster than the whole job: it could work that way too.
    const double pace = std::min(1.0, step.share * whole_step() / r.step_time);
    if (pace > best.pace) best = {pace, step.regroup};
  }
  return best;
}

Degraded DegradedSteps::without(const std::vector<int>& nodes) {
  const Lost lost = lost_with(scenario_, plan_, nodes);
  const std::string key = key_of(lost, scenario_.failures->recovery->traits.depends);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, predict_without(lost)).first->second;
}

OneLost DegradedSteps::one_lost(int nodes) {
  OneLost mean{0, 0};
  for (int node = 0; node < nodes; ++node) {
    const Degraded one = without({node});
    mean.pace += one.pace / nodes;
    mean.regroup += one.regroup / nodes;
  }
  return mean;
}

double DegradedSteps::with_slow_node(double factor, int nodes) {
  if (factor <= 1) return 1;
  const models::Scenario s = without_failures(scenario_);
  const models::MeshAxis pp = plan_.meshes.front().axis("pp");
  std::map<std::vector<double>, double> known;  // by the load of pipeline ranks
  double mean = 0;
  int device = 0, node = 0;
  for (const models::NodeGroup& group : s.cluster.groups) {
    for (int n = 0; n < group.nodes && node < nodes; ++n, ++node) {
      std::vector<double> load(static_cast<std::size_t>(pp.size), 1.0);
      for (int d = 0; d < group.devices_per_node && device + d < plan_.world_size; ++d)
        load[static_cast<std::size_t>((device + d) / pp.stride % pp.size)] = factor;
      device += group.devices_per_node;
      double& pace = known[load];
      if (pace == 0)
        pace = std::min(1.0, whole_step() / predict(s, {.load = load}).result.step_time);
      mean += pace / nodes;
    }
  }
  return mean;
}

}  // namespace paceline::sim

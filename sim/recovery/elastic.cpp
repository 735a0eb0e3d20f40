// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "models/cost/memory.hpp"
#include "sim/lower/stage_times.hpp"
#include "sim/predict.hpp"
#include "sim/recovery/recovery.hpp"

namespace paceline::sim {
namespace {

double stage_seconds(const StageTime& t) {
  return t.forward.value + t.input_gradient.value + t.weight_gradient.value;
}

/// What stages do beside their layers, in layers: embedding, head and loss.
std::vector<double> end_work(const models::Scenario& s, const models::Plan& plan) {
  const StageTimes times = stage_times(s, plan);
  double layer = 1e300;  // a stage without ends has the shortest ones
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    layer = std::min(layer, stage_seconds(times.stages[i]) / std::max(1, plan.stages[i].layers));
  std::vector<double> ends;
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    ends.push_back(std::max(0.0, stage_seconds(times.stages[i]) / layer - plan.stages[i].layers));
  return ends;
}

/// Bytes a second that a device receives from others.
double receives(const models::Scenario& s) {
  const models::NodeGroup& g = s.cluster.groups.front();
  if (g.ports_per_node > 0) return g.network.rate().value * g.ports_per_node / g.devices_per_node;
  return g.levels.empty() ? g.device.host_bandwidth.value : g.levels.back().link.rate().value;
}

/// Weights and optimizer states of `layers` layers as a rank receives them: of states only the
/// shards that it will hold (ElasWave, section on interleaved ZeRO shards), and its part of the
/// shards that were lost, out of the snapshot in a host.
double moving_seconds(const models::Scenario& s, const models::Plan& plan, int layers, int lost) {
  const models::StateBytes bytes = models::state_bytes(s);
  const models::Stage& stage = plan.stages[plan.stages.size() / 2];
  const double parameters = models::stage_parameters(s, stage);
  const double shards = s.parallel.zero > 0 ? models::shard_ranks(s).dense : 1;
  const double layer = parameters / std::max(1, stage.layers);
  const double moved = layers * layer * (bytes.weight + bytes.optimizer / shards);
  if (lost == 0) return moved / receives(s);
  const double restored =
      shards > 1 ? parameters * bytes.optimizer / shards * lost / (s.parallel.dp - lost) : 0;
  return moved / receives(s) + restored / s.cluster.groups.front().device.host_bandwidth.value;
}

/// Of the pipeline ranks that hold a stage, the highest load.
std::vector<double> stage_loads(const models::Scenario& s, const models::Plan& plan,
                                const std::vector<double>& by_rank) {
  const Program program = make_program(s, plan);
  std::vector<double> loads(plan.stages.size(), 1.0);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    for (const Action& action : program.order[rank]) {
      const auto stage = static_cast<std::size_t>(action.stage);
      if (stage < loads.size()) loads[stage] = std::max(loads[stage], by_rank[rank]);
    }
  }
  return loads;
}

/// Communicators are edited, states move; beside the next step only what is left of them shows.
double regroup_seconds(const models::Scenario& s, const models::Plan& plan, int layers, int lost) {
  const double moving = moving_seconds(s, plan, layers, lost);
  if (!s.failures->migrates_beside) return s.failures->edit + moving;
  double beside = 0;
  for (const StageTime& t : stage_times(s, plan).stages)
    beside = std::max(beside, stage_seconds(t) * plan.microbatches);
  return s.failures->edit + std::max(0.0, moving - beside);
}

}  // namespace

/// ElasWave (arXiv 2510.00606): microbatches of a stage are resized over the replicas it has left,
/// dp / (dp - k) of the work each, and layers go to stages that lost less, so that the slowest
/// stage is as fast as it can be. Nothing is lost: states come from snapshots in memory. Clocks of
/// devices stay as they are.
DegradedWays elastic(const models::Scenario& scenario, const models::Plan& plan, const Lost& lost) {
  const int dp = scenario.parallel.dp;
  if (lost.cells.front() >= dp) return {};
  DegradedStep step{.scenario = without_failures(scenario)};
  std::vector<int> before;
  for (const models::Stage& stage : plan.stages) before.push_back(stage.layers);
  for (const int cells : lost.cells) step.load.push_back(static_cast<double>(dp) / (dp - cells));
  step.scenario.parallel.stage_layers = before;
  step.regroup = regroup_seconds(scenario, plan, 0, lost.cells.front());
  // A stage without layers stays as it is: there is nothing to move.
  if (lost.cells.front() == 0 || *std::min_element(before.begin(), before.end()) == 0)
    return {step};
  DegradedStep moved = step;
  const std::vector<int> after =
      balanced_layers(std::accumulate(before.begin(), before.end(), 0),
                      stage_loads(scenario, plan, step.load), end_work(scenario, plan));
  moved.scenario.parallel.stage_layers = after;
  moved.regroup = regroup_seconds(scenario, plan, most_moved(before, after), lost.cells.front());
  return {moved, step};
}

}  // namespace paceline::sim

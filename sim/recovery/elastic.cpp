// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/cost/memory.hpp"
#include "sim/lower/stage_times.hpp"
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

}  // namespace

/// ElasWave (arXiv 2510.00606): microbatches of a stage are resized over the replicas it has left,
/// dp / (dp - k) of the work each, and layers go to stages that lost less, so that the slowest
/// stage is as fast as it can be. Nothing is lost: states come from snapshots in memory. Clocks of
/// devices stay as they are.
DegradedWays elastic(const models::Scenario& scenario, const models::Plan& plan, const Lost& lost) {
  const int dp = scenario.parallel.dp;
  if (lost.cells.front() >= dp) return {};
  DegradedStep step{.scenario = without_failures(scenario)};
  std::vector<int> before, after;
  for (const models::Stage& stage : plan.stages) before.push_back(stage.layers);
  for (const int cells : lost.cells) step.load.push_back(static_cast<double>(dp) / (dp - cells));
  int layers = 0;
  std::vector<double> load;
  for (std::size_t i = 0; i < before.size(); ++i) {
    layers += before[i];
    load.push_back(step.load[i % step.load.size()]);
  }
  // As many stages as layers, or a stage without any: there is nothing to move.
  const bool movable = *std::min_element(before.begin(), before.end()) > 0;
  after = movable ? balanced_layers(layers, load, end_work(scenario, plan)) : before;
  if (lost.cells.front() == 0) after = before;
  step.scenario.parallel.stage_layers = after;
  const models::FailureSettings& f = *scenario.failures;
  const double moving =
      moving_seconds(scenario, plan, most_moved(before, after), lost.cells.front());
  double beside = 0;
  if (f.migrates_beside) {
    for (const StageTime& t : stage_times(scenario, plan).stages)
      beside = std::max(beside, stage_seconds(t) * plan.microbatches);
  }
  step.regroup = f.edit + std::max(0.0, moving - beside);
  return {step};
}

}  // namespace paceline::sim

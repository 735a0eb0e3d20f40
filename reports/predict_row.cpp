// SPDX-License-Identifier: Apache-2.0
#include "reports/predict_row.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/error.hpp"
#include "models/cost/memory.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/lower/pass_cost.hpp"
#include "sim/predict.hpp"

namespace paceline::reports {
namespace {

using models::Scenario;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kGB = 1e9;

bool measures(const models::SetRow& row, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return row.measured.count(std::string(name)) != 0;
  });
}

double peak_rate(const Scenario& scenario, const models::Plan& plan) {
  // Sets run on clusters of one kind of device; with several, the first group stands for all.
  const models::Device& device = scenario.cluster.groups.front().device;
  return plan.world_size * device.matrix_rate[static_cast<std::size_t>(scenario.precision)].value;
}

void add_step(const Scenario& scenario, RowPrediction& out) {
  const sim::Prediction prediction = sim::predict(scenario);
  const sim::Result& result = prediction.result;
  out.values["step_time_s"] = result.step_time;
  out.values["bubble_fraction"] = result.bubble_makespan;
  out.values["fits"] = result.fits() ? 1 : 0;
  double reserved = 0, allocated = 0;
  for (const sim::MemoryPeak& peak : result.memory) {
    reserved = std::max(reserved, peak.reserved_bytes);
    allocated = std::max(allocated, peak.peak_bytes);
  }
  out.values["memory_GB"] = reserved / kGB;
  out.values["allocated_GiB"] = allocated / kGiB;
  // Given stage times say nothing about FLOPs: no baseline there.
  out.model_flops = scenario.costs ? 0 : result.model_flops;
  out.peak_flops_per_s = peak_rate(scenario, prediction.plan);
}

void add_layer(const Scenario& scenario, RowPrediction& out) {
  const models::Plan plan = models::make_plan(scenario);
  const sim::CostContext context = sim::cost_context(scenario, plan, 0);
  const bool recomputed = scenario.recompute == models::Recompute::Full;
  const auto seconds = [&](sim::Role role) {
    return sim::layer_cost(context, scenario.model.kinds.front(), recomputed, role).seconds;
  };
  const double forward = seconds(sim::Role::Forward), backward = seconds(sim::Role::Backward);
  out.values["layer_forward_ms"] = 1e3 * forward;
  out.values["layer_backward_ms"] = 1e3 * backward;
  out.values["layer_ms"] = 1e3 * (forward + backward);
}

/// Bytes a layer keeps of one microbatch.
double stored_bytes(const Scenario& scenario) {
  return scenario.recompute == models::Recompute::Full
             ? models::checkpoint_bytes(scenario)
             : models::activation_bytes(scenario, scenario.model.kinds.front());
}

/// Most layers times microbatches in flight on pipeline rank 0, counted along its order.
double layers_in_flight(const Scenario& scenario, const models::Plan& plan) {
  const sim::Program program = sim::make_program(scenario, plan);
  double now = 0, most = 0;
  for (const sim::Action& action : program.order.front()) {
    const sim::Pass& pass = program.passes[action.pass];
    const int layers = plan.stages[static_cast<std::size_t>(action.stage)].layers;
    if (pass.direction == sim::Direction::Down) now += layers;
    if (!pass.frees.empty()) now -= layers;
    most = std::max(most, now);
  }
  return most;
}

void add_formulas(const Scenario& scenario, RowPrediction& out) {
  const models::Plan plan = models::make_plan(scenario);
  double parameters = 0;
  for (std::size_t s = 0; s < plan.stages.size();
       s += static_cast<std::size_t>(scenario.parallel.pp))
    parameters += models::stage_matrix_parameters(scenario, plan.stages[s]);
  const models::StateBytes bytes = models::state_bytes(scenario);
  out.values["parameters_GiB"] =
      parameters * (bytes.weight + bytes.gradient + bytes.optimizer) / kGiB;
  out.values["activations_GiB"] = stored_bytes(scenario) * layers_in_flight(scenario, plan) / kGiB;
  Scenario plain = scenario;
  plain.recompute = models::Recompute::None;
  plain.parallel.sequence_parallel = false;
  out.values["activation_percent"] = 100 * stored_bytes(scenario) / stored_bytes(plain);
}

}  // namespace

RowPrediction predict_row(const models::SetRow& row) {
  RowPrediction out;
  try {
    const Scenario scenario = models::read_scenario(row.scenario);
    if (measures(row, {"step_time_s", "bubble_fraction", "fits", "memory_GB", "allocated_GiB"}))
      add_step(scenario, out);
    if (measures(row, {"layer_ms", "layer_forward_ms", "layer_backward_ms"}))
      add_layer(scenario, out);
    if (measures(row, {"parameters_GiB", "activations_GiB", "activation_percent"}))
      add_formulas(scenario, out);
  } catch (const base::Error& error) {
    out.values.clear();
    out.failure = error.what();
  }
  return out;
}

}  // namespace paceline::reports

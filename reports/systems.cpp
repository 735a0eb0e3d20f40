// SPDX-License-Identifier: Apache-2.0
#include "reports/systems.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/message.hpp"
#include "models/cost/memory.hpp"
#include "models/cost/sparse_collective.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/jobs/run_jobs.hpp"
#include "sim/predict.hpp"

namespace paceline::reports {
namespace {

using models::Relation;
using models::Scenario;
using sim::MemoryPart;
using sim::Part;
using sim::Stream;

double bytes_of(const sim::MemoryPeak& peak, std::initializer_list<MemoryPart> parts) {
  double sum = 0;
  for (const MemoryPart part : parts) sum += peak.parts[static_cast<std::size_t>(part)];
  return sum;
}

double exposed(const sim::PartSeconds& breakdown) {
  double sum = 0;
  for (const Part part :
       {Part::ExposedTp, Part::ExposedCp, Part::ExposedEp, Part::ExposedPp, Part::ExposedDp})
    sum += breakdown[static_cast<std::size_t>(part)];
  return sum;
}

double whole_peak_rate(const Scenario& scenario, const models::Plan& plan) {
  double rate = 0;
  for (int rank = 0; rank < plan.world_size; ++rank) {
    const auto group = scenario.cluster.place_of(rank).group;
    rate += scenario.cluster.groups[group]
                .device.matrix_rate[static_cast<std::size_t>(scenario.precision)]
                .value;
  }
  return rate;
}

void add_memory(const sim::Result& result, std::map<std::string, double, std::less<>>& values) {
  // Of the rank class that comes nearest to its capacity.
  const auto fuller = [](const sim::MemoryPeak& a, const sim::MemoryPeak& b) {
    return a.reserved_bytes / a.capacity_bytes < b.reserved_bytes / b.capacity_bytes;
  };
  const sim::MemoryPeak& peak =
      *std::max_element(result.memory.begin(), result.memory.end(), fuller);
  values["peak_bytes"] = peak.peak_bytes;
  values["reserved_bytes"] = peak.reserved_bytes;
  values["capacity_bytes"] = peak.capacity_bytes;
  values["state_bytes"] = bytes_of(peak, {MemoryPart::Parameters, MemoryPart::Gradients,
                                          MemoryPart::Optimizer, MemoryPart::WeightVersions});
  values["activation_bytes"] = bytes_of(peak, {MemoryPart::Activations, MemoryPart::Logits});
}

double table_states(const Scenario& scenario, const models::Plan& plan) {
  double sum = 0;
  for (const models::Stage& stage : plan.stages) sum += models::table_state_bytes(scenario, stage);
  return sum * scenario.parallel.tp;
}

/// Of the run with failures, 0 without; and what a step costs.
void add_run(const sim::Result& r, std::map<std::string, double, std::less<>>& values) {
  const sim::RunOutlook run = r.outlook.value_or(sim::RunOutlook{});
  const sim::OneLost one = run.one_lost.value_or(sim::OneLost{0, 0});
  values["goodput"] = run.goodput.value;
  values["run_s"] = run.run_seconds.value;
  values["run_usd"] = run.run_money ? run.run_money->value : 0;
  values["checkpoint_bytes"] = run.checkpoint_bytes;
  values["checkpoint_blocking_s"] = run.blocking;
  values["one_lost_pace"] = one.pace;
  values["one_lost_regroup_s"] = one.regroup;
  values["billion_tokens_usd"] = r.money ? r.money->billion_tokens : 0;
  values["step_j"] = r.energy ? r.energy->step.middle : 0;
}

/// Every name of models::system_quantities().
std::map<std::string, double, std::less<>> quantities(const Scenario& scenario,
                                                      const sim::Prediction& prediction) {
  const sim::Result& r = prediction.result;
  const auto part = [&](Part p) { return r.breakdown[static_cast<std::size_t>(p)]; };
  const auto sent = [&](Stream s) { return r.traffic_bytes[static_cast<std::size_t>(s)]; };
  std::map<std::string, double, std::less<>> values{
      {"table_state_bytes", table_states(scenario, prediction.plan)},
      {"step_time_s", r.step_time},
      {"tokens_per_s", r.tokens_per_s},
      {"samples_per_s", r.samples_per_s},
      {"mfu", r.mfu},
      {"hfu", r.hfu},
      {"model_flops", r.model_flops},
      {"hardware_flops", r.hardware_flops},
      {"bubble_makespan", r.bubble_makespan},
      {"bubble_stage", r.bubble_longest_stage},
      {"compute_s", part(Part::Compute)},
      {"bubble_s", part(Part::Bubble)},
      {"exposed_s", exposed(r.breakdown)},
      {"foreign_s", r.foreign ? r.foreign->done * r.foreign->piece_seconds : 0.0},
      {"fits", r.fits() ? 1.0 : 0.0},
      {"traffic_tp_bytes", sent(Stream::Tp)},
      {"traffic_cp_bytes", sent(Stream::Cp)},
      {"traffic_pp_bytes", sent(Stream::PpDown) + sent(Stream::PpUp) + sent(Stream::PpAll)},
      {"traffic_dp_bytes", sent(Stream::Dp)},
      {"devices", static_cast<double>(prediction.plan.world_size)},
      {"parameters", static_cast<double>(models::total_parameters(scenario.model))},
      {"step_tokens", static_cast<double>(scenario.batch.global * scenario.batch.sequence)},
      {"step_samples", static_cast<double>(scenario.batch.global)},
      {"traffic_bytes", std::accumulate(r.traffic_bytes.begin(), r.traffic_bytes.end(), 0.0)},
      {"peak_flops_per_s", whole_peak_rate(scenario, prediction.plan)}};
  values["jittered_step_time_s"] = r.distribution ? r.distribution->mean.value : r.step_time;
  const sim::OuterResult outer = r.outer.value_or(sim::OuterResult{});
  values["outer_utilisation"] = outer.utilisation;
  values["outer_tokens_per_s"] = outer.tokens_per_s;
  values["outer_data_parallel_tokens_per_s"] = outer.data_parallel_tokens_per_s;
  values["outer_sent_bytes"] = outer.sent_bytes;
  const sim::Staleness late = r.staleness.value_or(sim::Staleness{});
  values["staleness_max"] = late.max;
  values["staleness_mean"] = late.mean;
  add_memory(r, values);
  add_run(r, values);
  return values;
}

/// Speed-ups of the data-parallel group's collectives on a sparse array.
void add_sparse(const Scenario& scenario, const models::Plan& plan,
                const models::SparseArray& array,
                std::map<std::string, double, std::less<>>& values) {
  using models::CollectiveOp;
  const models::CollectiveGroup group = models::data_groups(plan, scenario).all;
  const models::NcclRelease& release = models::nccl_release(scenario.stack.nccl);
  const auto gain = [&](CollectiveOp op) {
    return models::sparse_speed_up(op, array.size, array.sparsity, array.value_bytes, group,
                                   release);
  };
  values["sparse_all_gather"] = gain(CollectiveOp::AllGather);
  values["sparse_reduce_scatter"] = gain(CollectiveOp::ReduceScatter);
  values["sparse_all_reduce"] = gain(CollectiveOp::AllReduce);
}

std::string missing_text(const models::System& system) {
  std::string text = "needs ";
  for (const std::string& capability : system.missing)
    text += (&capability == &system.missing.front() ? "" : ", ") + capability;
  return text;
}

SystemStatus by_error(double error, const models::SystemCheck& check) {
  // A figure on the edge counts: 1.05 / 1 - 1 is a little more than 0.05.
  constexpr double kRounding = 1e-12;
  if (std::fabs(error) <= check.tolerance + kRounding) return SystemStatus::Reproduced;
  return std::fabs(error) <= check.band + kRounding ? SystemStatus::Within : SystemStatus::Off;
}

}  // namespace

std::string_view to_text(SystemStatus status) {
  switch (status) {
    case SystemStatus::Reproduced:
      return "reproduced";
    case SystemStatus::Within:
      return "within";
    case SystemStatus::Off:
      return "off";
    case SystemStatus::NotExpressible:
      return "not expressible";
  }
  return "";
}

CheckResult judge(const models::SystemCheck& check, double value) {
  CheckResult result;
  result.predicted = value;
  bool holds = false;
  switch (check.relation) {
    case Relation::AtLeast:
      holds = value >= check.claimed;
      break;
    case Relation::AtMost:
      holds = value <= check.claimed;
      break;
    case Relation::Gain:
      result.predicted = value - 1;
      break;
    case Relation::Saving:
      result.predicted = 1 - value;
      break;
    case Relation::Value:
      break;
    case Relation::Shown:
      result.status = SystemStatus::Reproduced;  // nothing to miss
      return result;
  }
  if (check.relation == Relation::AtLeast || check.relation == Relation::AtMost) {
    result.status = holds ? SystemStatus::Reproduced : SystemStatus::Off;
    return result;
  }
  result.error = result.predicted / check.claimed - 1;
  result.status = by_error(*result.error, check);
  return result;
}

namespace {

using Rows = std::vector<std::vector<models::Cell>>;

/// Adds the quantities of a scenario to every row.
void add_scenario(const models::SystemRun& run, SystemCase& one, Rows& rows) {
  const Scenario scenario = models::read_scenario(run.scenario);
  if (run.shared_links && !sim::simgrid_available())
    throw sim::EngineFailure("needs the SimGrid engine, which this build lacks");
  sim::PredictOptions options;
  options.engine = run.shared_links ? sim::Engine::Simgrid : sim::Engine::Reference;
  options.energy = true;
  const sim::Prediction prediction = sim::predict(scenario, options);
  auto values = quantities(scenario, prediction);
  if (run.sparse) add_sparse(scenario, prediction.plan, *run.sparse, values);
  const auto offer = [&](std::string_view name) {
    const auto found = values.find(name);
    PACELINE_CHECK(found != values.end());
    for (auto& row : rows) row.push_back({models::number_text(found->second), 0, 0});
  };
  const auto always = models::system_quantities(), sparse = models::sparse_quantities();
  std::for_each(always.begin(), always.end(), offer);
  if (run.sparse) std::for_each(sparse.begin(), sparse.end(), offer);
  one.runs.push_back({prediction.result.step_time, prediction.result.fits(), 0});
}

/// Adds the figures of a jobs file: a row for each instance.
void add_jobs(const models::SystemRun& run, SystemCase& one, Rows& rows) {
  const sim::jobs::JobsResult result = sim::jobs::run_jobs(*run.jobs);
  const auto& figures = result.variants.front().figures;
  if (rows.size() == 1) rows.assign(figures.size(), rows.front());
  if (rows.size() != figures.size())
    throw base::Error(one.system.file, "jobs files with different numbers of instances");
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& policy : figures[i])
      for (std::size_t f = 0; f < models::kJobFigures.size(); ++f)
        rows[i].push_back({policy ? models::number_text((*policy)[f]) : "", 0, 0});
  one.runs.push_back({0, true, static_cast<int>(figures.size())});
}

/// The median over rows in which the expression has a value.
double median_value(const models::SystemCheck& check, const models::System& system, Rows& rows) {
  std::vector<double> values;
  for (auto& row : rows) {
    for (models::Cell& cell : row) {
      cell.line = check.place.line;
      cell.column = check.place.column;
    }
    if (const auto value = evaluate(check.expression, system.columns, row))
      values.push_back(*value);
  }
  if (values.empty())
    throw base::Error(system.file,
                      "in no instance all jobs of " + base::quote(check.text) + " start");
  return sim::jobs::jobs_spread(std::move(values)).median;
}

void run_and_judge(SystemCase& one) {
  Rows rows(1);
  for (const models::SystemRun& run : one.system.runs)
    run.jobs ? add_jobs(run, one, rows) : add_scenario(run, one, rows);
  const std::vector<models::SystemCheck>& checks = one.system.checks;
  const bool compared = std::any_of(checks.begin(), checks.end(), [](const auto& check) {
    return check.relation != Relation::Shown;
  });
  // Without a published figure there is nothing to reproduce.
  one.status = compared ? SystemStatus::Reproduced : SystemStatus::Within;
  for (const models::SystemCheck& check : checks) {
    one.checks.push_back(judge(check, median_value(check, one.system, rows)));
    one.status = std::max(one.status, one.checks.back().status);
  }
  one.why = one.system.why;
}

}  // namespace

SystemCase validate_system(models::System system) {
  SystemCase one;
  one.system = std::move(system);
  if (!one.system.missing.empty()) {
    one.why = missing_text(one.system);
    return one;
  }
  try {
    run_and_judge(one);
  } catch (const sim::EngineFailure& failure) {  // costs this row only
    SystemCase lost;
    lost.system = std::move(one.system);
    lost.why = failure.what();
    return lost;
  }
  return one;
}

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/child_pool.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "reports/answer.hpp"
#include "sim/engine/simgrid.hpp"

namespace paceline::reports {

namespace {

constexpr std::string_view kDoesNotFit = "does not fit";

constexpr std::array<std::string_view, kPointStatuses> kStatusNames{
    "fits", kDoesNotFit, "bad input", "no progress", "crashed"};

std::vector<std::string> profile_names(const models::Scenario& scenario) {
  std::vector<std::string> names;
  for (const models::Profile& profile : scenario.profiles) names.push_back(profile.name);
  return names;
}

SweepRow empty_row(const models::Sweep& sweep, std::size_t point) {
  SweepRow row;
  row.point = point;
  row.values = models::point_values(sweep, point);
  return row;
}

void fill_row(SweepRow& row, const sim::Prediction& prediction) {
  const sim::Result& result = prediction.result;
  row.status = result.fits() ? PointStatus::Fits : PointStatus::DoesNotFit;
  row.devices = prediction.plan.world_size;
  row.step_time = result.step_time;
  row.tokens_per_s = result.tokens_per_s;
  row.mfu = result.mfu;
  row.hfu = result.hfu;
  if (result.outer) {  // of all workers, exchanges included
    row.devices *= result.outer->workers;
    row.step_time = result.outer->step_seconds;
    row.tokens_per_s = result.outer->tokens_per_s;
    row.mfu *= result.outer->utilisation;
    row.hfu *= result.outer->utilisation;
  }
  for (const std::string& warning : result.warnings) {
    if (!warning.starts_with(kDoesNotFit)) row.warnings.push_back(warning);  // is the status
  }
  for (const double bytes : result.traffic_bytes) row.traffic_bytes += bytes;
  if (result.energy) row.step_j = result.energy->step.middle;
  if (result.money && result.money->billion_tokens > 0)
    row.billion_tokens_usd = result.money->billion_tokens;
  if (result.run_seconds > 0) row.run_s = result.run_seconds;
  if (result.money && result.money->run > 0) row.run_usd = result.money->run;
  if (result.outlook) {
    row.goodput = result.outlook->goodput.value;
    row.run_s = result.outlook->run_seconds.value;
    if (result.outlook->run_money) row.run_usd = result.outlook->run_money->value;
  }
  if (const sim::MemoryPeak* peak = fullest(result)) {
    row.reserved_bytes = peak->reserved_bytes;
    row.capacity_bytes = peak->capacity_bytes;
  }
  if (result.fits()) return;
  row.reason = "needs " + base::format_bytes(base::Bytes(row.reserved_bytes)) + " of " +
               base::format_bytes(base::Bytes(row.capacity_bytes));
}

}  // namespace

std::string_view to_text(PointStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

SweepHeader make_sweep_header(const models::Sweep& sweep, const sim::PredictOptions& options,
                              std::string command) {
  SweepHeader header;
  header.version = PACELINE_VERSION;
  header.command = std::move(command);
  header.scenario = header.file = sweep.base.file;
  try {
    const models::Scenario scenario = models::read_scenario(sweep.base);
    header.scenario = scenario.name;
    header.hash = scenario.hash;
    header.stack = scenario.stack.name;
    header.profiles = profile_names(scenario);
  } catch (const base::Error&) {  // complete only with the values of a point
    header.hash = base::hash_text(base::canonical_text(sweep.base.root));
  }
  header.engine = sim::kEngines[static_cast<std::size_t>(options.engine)].name;
  if (options.engine == sim::Engine::Simgrid) {
    header.fidelity = sim::kFidelities[static_cast<std::size_t>(options.fidelity)].name;
  }
  for (const models::SweepAxis& axis : sweep.axes) header.paths.push_back(axis.path);
  header.points = sweep.points;
  return header;
}

SweepRow predict_point(const models::Sweep& sweep, std::size_t point,
                       const sim::PredictOptions& options) {
  SweepRow row = empty_row(sweep, point);
  const auto fail = [&](PointStatus status, const char* reason) {
    row.status = status;
    row.reason = reason;
  };
  try {
    const models::Scenario scenario = models::read_scenario(models::point_document(sweep, point));
    row.hash = scenario.hash;
    row.stack = scenario.stack.name;
    row.profiles = profile_names(scenario);
    fill_row(row, sim::predict(scenario, options));
  } catch (const sim::EngineFailure& failure) {
    fail(PointStatus::Crashed, failure.what());
  } catch (const base::NoProgress& error) {
    fail(PointStatus::NoProgress, error.what());
  } catch (const base::Error& error) {
    fail(PointStatus::BadInput, error.what());
  } catch (const std::bad_alloc&) {
    fail(PointStatus::Crashed, "out of memory");
  }
  return row;
}

namespace {

/// Points that one process works on, one after another: starting it takes as long as some of them.
/// Few enough that all processes end together; SimGrid wants a process for each.
std::size_t points_each(const SweepHeader& header, std::size_t points, int jobs) {
  if (!header.fidelity.empty()) return 1;
  return std::clamp<std::size_t>(points / (static_cast<std::size_t>(jobs) * 8), 1, 16);
}

}  // namespace

bool run_points(const models::Sweep& sweep, const SweepHeader& header,
                const std::vector<std::size_t>& points, int jobs,
                const std::function<SweepRow(std::size_t)>& predict,
                const std::function<void(SweepRow)>& take, const ShareOut& share, int processes) {
  const auto run = [&](const std::vector<std::size_t>& list, std::size_t each, bool shared,
                       const std::function<void(std::size_t, const std::string&)>& failed) {
    const auto work = [&](std::size_t i) {
      std::string lines;
      for (std::size_t k = i * each; k < std::min((i + 1) * each, list.size()); ++k)
        lines += sweep_row_line(header, predict(list[k]));
      return lines;
    };
    const auto done = [&](const base::ChildAnswer& answer) {
      const std::size_t first = answer.index * each;
      if (!answer.failure.empty()) {
        for (std::size_t k = first; k < std::min(first + each, list.size()); ++k)
          failed(list[k], answer.failure);
        return;
      }
      for (SweepRow& row : read_sweep_lines(answer.text, header)) take(std::move(row));
    };
    const std::size_t pieces = (list.size() + each - 1) / each;
    return shared ? base::run_in_children(share(pieces), jobs, work, done)
                  : base::run_in_children(pieces, jobs, work, done);
  };
  const auto crashed = [&](std::size_t point, const std::string& failure) {
    SweepRow row = empty_row(sweep, point);
    row.status = PointStatus::Crashed;
    row.reason = failure;
    take(std::move(row));
  };
  const bool shared = share != nullptr;
  const std::size_t each = points_each(header, points.size(), jobs * processes);
  if (each == 1) return run(points, 1, shared, crashed);
  std::vector<std::size_t> again;  // beside one that crashed: alone, to find out which
  const auto repeat = [&](std::size_t point, const std::string&) { again.push_back(point); };
  return run(points, each, shared, repeat) && run(again, 1, false, crashed);
}

SweepReport make_sweep_report(SweepHeader header, std::vector<SweepRow> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const SweepRow& a, const SweepRow& b) { return a.point < b.point; });
  SweepReport report{std::move(header), std::move(rows), {}};
  report.pareto = pareto_front(report.rows, report.header.pareto_of);
  return report;
}

}  // namespace paceline::reports

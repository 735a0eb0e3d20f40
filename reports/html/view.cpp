// SPDX-License-Identifier: Apache-2.0
#include "reports/html/view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "reports/answer.hpp"
#include "reports/html/report.hpp"
#include "sim/steady.hpp"

namespace paceline::reports {

namespace {

constexpr std::size_t kShownLanes = 64;
constexpr std::size_t kShownTasks = 150'000;  ///< a page stays below 5 MB and fluid

}  // namespace

double rounded(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return std::strtod(text, nullptr) + 0.0;  // never -0
}

double unit_for(double largest, int digits) {
  if (!(largest > 0)) return 1;
  return std::pow(10.0, std::floor(std::log10(largest)) - digits);
}

StepWindow step_window(const models::Scenario& scenario, const sim::Prediction& prediction) {
  StepWindow window;
  window.to = prediction.timeline.makespan;
  if (!sim::repeats(scenario)) return window;
  const sim::SteadyState steady = sim::steady_state(
      prediction.program, prediction.graph, prediction.timeline, prediction.plan.microbatches);
  return {steady.from, steady.to, steady.steps, steady.piece};
}

std::vector<std::size_t> shown_lanes(const sim::Prediction& prediction) {
  const std::size_t count = prediction.graph.lanes.size();
  const std::size_t tasks = prediction.graph.tasks.size();
  std::size_t most = std::min(count, kShownLanes);
  if (tasks > kShownTasks)
    most = std::min(most, std::max<std::size_t>(4, count * kShownTasks / tasks));
  std::set<std::size_t> chosen;
  if (most < count) {
    chosen.insert(static_cast<std::size_t>(prediction.result.critical_lane));
    if (const sim::MemoryPeak* peak = fullest(prediction.result))
      chosen.insert(static_cast<std::size_t>(peak->lane));
  }
  for (std::size_t i = 0; i < most && chosen.size() < most; ++i)
    chosen.insert(most > 1 ? i * (count - 1) / (most - 1) : 0);
  return {chosen.begin(), chosen.end()};
}

std::string report_view(const models::Scenario& scenario, const sim::Prediction& prediction) {
  const StepWindow window = step_window(scenario, prediction);
  const std::vector<std::size_t> lanes = shown_lanes(prediction);
  base::JsonWriter json(0);
  json.begin_object();
  write_spans(json, prediction, window, lanes);
  write_memory_curves(json, prediction, lanes);
  if (prediction.result.energy) write_power_curve(json, scenario, prediction, window);
  write_traffic_matrix(json, prediction, window);
  if (scenario.modules.size() <= 1) write_roofline(json, scenario, prediction);
  json.end_object();
  std::string text = json.finish();
  text.pop_back();
  return text;
}

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include "reports/execution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/json.hpp"
#include "base/text.hpp"
#include "reports/compare.hpp"

namespace paceline::reports {
namespace {

using base::JsonWriter;
using sim::TaskKind;

constexpr int kName = 26, kColumn = 12;
constexpr std::size_t kShownRows = 30;

std::string_view what_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::Action:
    case TaskKind::Kernel:
      return "kernel";
    case TaskKind::Message:
      return "message";
    case TaskKind::Collective:
      return "collective";
    case TaskKind::Optimizer:
      return "optimizer";
    case TaskKind::Host:
    case TaskKind::Join:
      break;
  }
  return "other";
}

std::string seconds(double value) { return base::format_seconds(base::Seconds(value)); }
std::string signed_percent(double value) {
  return (value >= 0 ? "+" : "-") + base::format_percent(std::abs(value));
}

std::string row_text(const WorkRow& row) {
  const auto count = static_cast<double>(row.count);
  const std::string error =
      row.measured > 0 && row.predicted > 0 ? signed_percent(row.error()) : "-";
  return "  " + pad_right(cut(row.name, kName - 1), kName) + pad_right(row.what, kColumn) +
         pad_left(std::to_string(row.count), 8) +
         pad_left(seconds(row.predicted / count), kColumn) +
         pad_left(seconds(row.measured / count), kColumn) +
         pad_left(seconds(row.measured), kColumn) + pad_left(error, 10) + "\n";
}

std::string work_text(const std::vector<WorkRow>& rows, const TextStyle& style) {
  std::string out = "\n" +
                    paint("  " + pad_right("work, all ranks", kName) + pad_right("", kColumn) +
                              pad_left("times", 8) + pad_left("predicted", kColumn) +
                              pad_left("measured", kColumn) + pad_left("together", kColumn) +
                              pad_left("error", 10),
                          Ink::Dim, style) +
                    "\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kShownRows); ++i) out += row_text(rows[i]);
  if (rows.size() > kShownRows)
    out += "  and " + std::to_string(rows.size() - kShownRows) + " more that take less\n";
  return out;
}

std::string steps_text(const std::vector<double>& steps) {
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  return std::to_string(steps.size()) + (steps.size() == 1 ? " step" : " steps") + ", " +
         seconds(*least) + " to " + seconds(*most) + "; shown: the one in the middle";
}

void write_work(JsonWriter& json, const std::vector<WorkRow>& rows) {
  json.key("work").begin_array();
  for (const WorkRow& row : rows) {
    json.begin_object().field("name", std::string_view(row.name)).field("kind", row.what);
    json.field("count", static_cast<std::int64_t>(row.count));
    json.field("predicted_s", row.predicted).field("measured_s", row.measured);
    json.key("error");
    if (row.measured > 0)
      json.value(row.error());
    else
      json.null();
    json.end_object();
  }
  json.end_array();
}

/// When a rank's own tasks finished, ascending.
std::map<int, std::vector<double>> finishes_by_rank(const sim::TaskGraph& graph,
                                                    const sim::Timeline& measured) {
  std::map<int, std::vector<double>> result;
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].kind != TaskKind::Message)
      result[graph.lanes[graph.tasks[t].lane].representative].push_back(measured.finish[t]);
  }
  for (auto& [rank, finishes] : result) std::sort(finishes.begin(), finishes.end());
  return result;
}

/// Starts of measured tasks, those of exchanges when everyone was there.
std::vector<double> began_together(const sim::TaskGraph& graph, const sim::Timeline& measured) {
  std::vector<double> began = measured.start;
  const auto finishes = finishes_by_rank(graph, measured);
  // The n-th collective of a group is the same on all its ranks.
  std::map<std::pair<std::uint32_t, std::vector<int>>, int> count;
  std::map<std::pair<std::vector<int>, int>, std::vector<sim::TaskId>> collectives;
  for (const sim::Exchange& exchange : graph.exchanges) {
    const sim::TaskId t = exchange.task;
    if (graph.tasks[t].kind != TaskKind::Message) {
      const int n = count[{graph.tasks[t].lane, exchange.ranks}]++;
      collectives[{exchange.ranks, n}].push_back(t);
      continue;
    }
    const auto receiver = finishes.find(exchange.ranks.back());
    if (receiver == finishes.end()) continue;
    const auto after =
        std::upper_bound(receiver->second.begin(), receiver->second.end(), measured.finish[t]);
    if (after != receiver->second.begin()) began[t] = std::max(began[t], *std::prev(after));
  }
  for (const auto& [key, members] : collectives) {
    double last = 0;
    for (const sim::TaskId t : members) last = std::max(last, measured.start[t]);
    for (const sim::TaskId t : members) began[t] = std::min(last, measured.finish[t]);
  }
  return began;
}

}  // namespace

std::vector<WorkRow> work_rows(const sim::TaskGraph& graph, const sim::Timeline& predicted,
                               const sim::Timeline& measured) {
  const std::vector<double> began = began_together(graph, measured);
  std::map<std::pair<std::string_view, std::string>, WorkRow> rows;
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    const sim::Task& task = graph.tasks[t];
    if (task.seconds <= 0) continue;
    const std::string_view what = what_of(task.kind);
    WorkRow& row = rows[{what, graph.segments[task.segment].name}];
    ++row.count;
    row.what = what;
    row.predicted += predicted.finish[t] - predicted.start[t];
    row.measured += measured.finish[t] - began[t];
  }
  std::vector<WorkRow> result;
  for (auto& [key, row] : rows) {
    row.name = key.second;
    result.push_back(row);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const WorkRow& a, const WorkRow& b) { return a.measured > b.measured; });
  return result;
}

std::string execution_text(const Execution& e, const TextStyle& style) {
  const std::array<Answer, 2> both{e.predicted, e.measured};
  std::string out = paint(printable(e.measured.scenario), Ink::Bold, style) + "\n";
  out += "ran on     " + std::to_string(e.ranks) + (e.ranks == 1 ? " rank" : " ranks") + ", " +
         e.backend + ": " + printable(e.device) + "\n";
  out += "steps      " + steps_text(e.step_seconds) + "\n\n";
  out += "Step time  " + seconds(e.measured.result.step_time) + " measured, " +
         seconds(e.predicted.result.step_time) + " predicted: " + signed_percent(e.step_error()) +
         "\n";
  out += comparison_text(both, style);
  out += work_text(e.work, style);
  if (!e.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : e.notes) {
    const std::vector<std::string> lines = wrap(note, style.width - 4);
    for (std::size_t i = 0; i < lines.size(); ++i)
      out += (i == 0 ? "  - " : "    ") + lines[i] + "\n";
  }
  return out;
}

std::string execution_json(const Execution& e) {
  JsonWriter json;
  json.begin_object().field("schema", kExecutionSchema).field("version", PACELINE_VERSION);
  json.field("command", std::string_view(e.measured.command));
  json.field("scenario", std::string_view(e.measured.scenario));
  json.field("hash", std::string_view(e.measured.hash));
  json.field("backend", std::string_view(e.backend)).field("device", std::string_view(e.device));
  json.field("ranks", e.ranks);
  json.field("predicted_step_s", e.predicted.result.step_time);
  json.field("measured_step_s", e.measured.result.step_time);
  json.field("step_error", e.step_error());
  json.key("step_s").begin_array(true);
  for (const double step : e.step_seconds) json.value(step);
  json.end_array();
  write_work(json, e.work);
  json.key("notes").begin_array();
  for (const std::string& note : e.notes) json.value(std::string_view(note));
  json.end_array().end_object();
  return json.finish();
}

sim::Prediction side_by_side(const sim::Prediction& predicted, const sim::Timeline& measured) {
  sim::Prediction both = predicted;
  sim::TaskGraph& graph = both.graph;
  const auto lanes = static_cast<std::uint32_t>(graph.lanes.size());
  const auto tasks = static_cast<sim::TaskId>(graph.tasks.size());
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    graph.lanes[lane].title = "predicted";
    graph.lanes.push_back(graph.lanes[lane]);
    graph.lanes.back().title = "measured";
  }
  std::vector<sim::TaskId> deps;
  for (sim::TaskId t = 0; t < tasks; ++t) {
    sim::Task task = graph.tasks[t];
    task.lane += lanes;
    deps.clear();
    for (const sim::TaskId d : graph.dependencies(t)) deps.push_back(d + tasks);
    graph.add(task, deps);
  }
  both.timeline.start.insert(both.timeline.start.end(), measured.start.begin(),
                             measured.start.end());
  both.timeline.finish.insert(both.timeline.finish.end(), measured.finish.begin(),
                              measured.finish.end());
  both.timeline.makespan = std::max(predicted.timeline.makespan, measured.makespan);
  return both;
}

}  // namespace paceline::reports

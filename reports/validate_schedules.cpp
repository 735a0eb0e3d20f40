// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "reports/schedule_tables.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

namespace paceline::reports {
namespace {

/// Of the tasks that are actions, what makes up the quantities.
struct Spans {
  double work = 0;     ///< of the busiest rank
  double longest = 0;  ///< first start to last end of one rank
  double makespan = 0;
};

Spans spans(const sim::TaskGraph& graph, const sim::Timeline& timeline) {
  Spans result;
  result.makespan = timeline.makespan;
  std::vector<double> work(graph.lanes.size(), 0), begin(work.size(), timeline.makespan),
      end(work.size(), 0);
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    const sim::Task& task = graph.tasks[t];
    if (task.kind != sim::TaskKind::Action) continue;
    work[task.lane] += task.seconds;
    begin[task.lane] = std::min(begin[task.lane], timeline.start[t]);
    end[task.lane] = std::max(end[task.lane], timeline.finish[t]);
  }
  for (std::size_t lane = 0; lane < work.size(); ++lane) {
    result.work = std::max(result.work, work[lane]);
    result.longest = std::max(result.longest, end[lane] - begin[lane]);
  }
  return result;
}

struct Answer {
  double value = 0;
  double hops = 0;  ///< ranks * hop / makespan
};

Answer evaluate(const ScheduleRow& row) {
  const sim::Schedule& schedule = sim::find_schedule(row.schedule.name, row.where);
  sim::PipelineShape shape{row.ranks, row.schedule.chunks, row.microbatches};
  shape.options = row.schedule.options;
  if (schedule.uses_times) shape.times = row.times;
  const sim::Program program = schedule.build(shape);
  if (row.quantity == "peak_activations") {
    const std::vector<int> held = sim::peak_in_flight(program);
    return {static_cast<double>(*std::max_element(held.begin(), held.end())) / shape.chunks /
                program.slices,
            0};
  }
  const sim::TaskGraph graph = sim::timed(program, row.times);
  const Spans s = spans(graph, sim::run_reference(graph));
  Answer answer;
  answer.hops = row.ranks * row.times.hop.value / s.makespan;
  if (row.quantity == "makespan") answer.value = s.makespan;
  if (row.quantity == "longest_stage") answer.value = s.longest;
  if (row.quantity == "bubble_rate") answer.value = 1 - s.work / s.makespan;
  if (row.quantity == "longest_stage_bubble_rate") answer.value = 1 - s.work / s.longest;
  return answer;
}

Suite::Case make_case(const ScheduleTable& table, const ScheduleRow& row) {
  Suite::Case one;
  one.value.id = row.id + (row.note.empty() ? "" : ", " + row.note);
  one.value.measured = row.listed;
  try {
    const Answer answer = evaluate(row);
    one.value.predicted = answer.value;
    if (table.in_hops) one.value.scale = answer.hops;
    // What may be smaller is no error when it is.
    const double judged = table.at_most ? std::max(answer.value, row.listed) : answer.value;
    one.error = row_error(table.metric, row.listed, judged, one.value.scale);
  } catch (const base::Error& error) {
    one.why = error.what();
  }
  return one;
}

std::string number_text(double value) {
  if (value >= 1000) return base::format_fixed(value, 1);
  return base::format_fixed(value, 4);
}

}  // namespace

std::vector<Suite> validate_schedules(const ScheduleTable& table) {
  std::vector<Suite> suites;
  for (const ScheduleRow& row : table.rows) {
    const std::string name = table.name + "." + row.quantity;
    auto suite =
        std::find_if(suites.begin(), suites.end(), [&](const Suite& s) { return s.name == name; });
    if (suite == suites.end()) {
      Suite fresh;
      fresh.name = name;
      fresh.title = table.title;
      fresh.source = table.source;
      fresh.quantity.name = row.quantity;
      fresh.quantity.metric = table.metric;
      fresh.quantity.bound.worst = table.bound;
      suites.push_back(std::move(fresh));
      suite = std::prev(suites.end());
    }
    suite->cases.push_back(make_case(table, row));
  }
  for (Suite& suite : suites) {
    std::vector<Compared> values;
    for (const Suite::Case& one : suite.cases) {
      values.push_back(one.value);
      if (table.at_most && one.value.predicted)
        values.back().predicted = std::max(*one.value.predicted, one.value.measured);
    }
    suite.kept = error_figures(values, table.metric);
    suite.all = suite.kept;
  }
  return suites;
}

std::string schedule_rows(const std::vector<Suite>& suites) {
  std::string text;
  const auto padded = [](std::string cell, std::size_t width) {
    return cell.size() < width ? std::string(width - cell.size(), ' ') + cell : cell;
  };
  for (const Suite& suite : suites) {
    text += "\n" + suite.name + ": " + suite.title + "\n  " + suite.source + "\n";
    text += padded("listed", 14) + padded("ours", 14) + padded("error", 13) + "  schedule\n";
    for (const Suite::Case& one : suite.cases) {
      text += padded(number_text(one.value.measured), 14) +
              padded(one.value.predicted ? number_text(*one.value.predicted) : "-", 14);
      std::string error = "-";
      if (one.error && suite.quantity.metric == models::ErrorMetric::Relative)
        error = base::format_fixed(100 * *one.error, 3) + " %";
      if (one.error && suite.quantity.metric == models::ErrorMetric::Absolute)
        error = base::format_fixed(*one.error, 6);
      text += padded(error, 13) + "  " + one.value.id + (one.error ? "" : ": " + one.why) + "\n";
    }
  }
  return text;
}

}  // namespace paceline::reports

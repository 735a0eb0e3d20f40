// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule_sample.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "reports/staleness.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/verify.hpp"

namespace paceline::reports {
namespace {

using sim::PipelineShape;
using sim::Program;
using sim::Task;
using sim::TaskId;
using sim::TaskKind;

bool accepts(const sim::Schedule& schedule, const PipelineShape& shape) {
  try {
    schedule.build(shape);
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

int messages_between_ranks(const sim::TaskGraph& graph) {
  return static_cast<int>(std::count_if(graph.tasks.begin(), graph.tasks.end(),
                                        [](const Task& t) { return t.kind == TaskKind::Message; }));
}

/// Sums of thirds and the like, without the digits that rounding leaves.
std::string neat(double value) { return base::shortest(std::round(value * 1e6) / 1e6); }

std::string range_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + neat(value);
  const bool equal = std::equal(values.begin() + 1, values.end(), values.begin());
  return equal ? neat(values.front()) + " on every rank" : text + " on ranks 0, 1, ...";
}

}  // namespace

PipelineShape accepted_shape(const sim::Schedule& schedule, int ranks, int microbatches) {
  const models::ScheduleTraits& traits = *models::schedule_traits(schedule.name);
  std::vector<int> chunks{traits.chunks};
  if ((traits.takes & models::kTakesChunks) != 0)
    chunks = {std::max(2, traits.chunks), traits.chunks};
  for (int p = ranks; p <= ranks + 4; ++p) {
    for (const int v : chunks) {
      for (int away = 0; away <= 4 * microbatches; ++away) {
        for (const int m : {microbatches + away, microbatches - away}) {
          const PipelineShape shape{p, v, m};
          if (m > 0 && accepts(schedule, shape)) return shape;
        }
      }
    }
  }
  throw base::Error("schedule " + std::string(schedule.name),
                    "accepts no shape near " + std::to_string(ranks) + " ranks and " +
                        std::to_string(microbatches) + " microbatches");
}

ScheduleSample sample(const sim::Schedule& schedule, const PipelineShape& shape) {
  ScheduleSample result{shape, schedule.build(shape), {}, {}};
  const base::Seconds unit(1.0 / (shape.chunks * result.program.slices));
  sim::StageTimes times = sim::uniform_times(shape.stages(), {unit, unit, unit, base::Bytes(1)});
  for (const sim::Pass& pass : result.program.passes) {
    if (!sim::stage_time_covers(pass)) times.others.push_back({pass.name, {{unit}}});
  }
  result.graph = sim::timed(result.program, times);
  result.timeline = sim::run_reference(result.graph);
  return result;
}

ScheduleFigures figures(const ScheduleSample& s) {
  ScheduleFigures result;
  result.makespan = s.timeline.makespan;
  std::vector<double> work(s.graph.lanes.size(), 0), begin(work.size(), s.timeline.makespan),
      end(work.size(), 0);
  for (TaskId t = 0; t < s.graph.tasks.size(); ++t) {
    const Task& task = s.graph.tasks[t];
    if (task.kind != TaskKind::Action) continue;
    work[task.lane] += task.seconds;
    begin[task.lane] = std::min(begin[task.lane], s.timeline.start[t]);
    end[task.lane] = std::max(end[task.lane], s.timeline.finish[t]);
  }
  for (std::size_t lane = 0; lane < work.size(); ++lane) {
    result.work = std::max(result.work, work[lane]);
    result.longest_stage = std::max(result.longest_stage, end[lane] - begin[lane]);
  }
  const double whole = s.shape.chunks * s.program.slices;
  for (const int held : sim::peak_in_flight(s.program)) result.peak.push_back(held / whole);
  result.buffers = sim::required_buffers(s.program);
  result.messages = static_cast<double>(messages_between_ranks(s.graph)) / s.program.microbatches;
  return result;
}

std::string to_text(const PipelineShape& shape) {
  std::string text = std::to_string(shape.ranks) + " ranks, ";
  if (shape.chunks > 1) text += std::to_string(shape.chunks) + " chunks each, ";
  return text + std::to_string(shape.microbatches) + " microbatches";
}

std::vector<std::pair<std::string, std::string>> figure_rows(const ScheduleSample& s) {
  const ScheduleFigures f = figures(s);
  std::vector<std::pair<std::string, std::string>> rows = {
      {"shape", to_text(s.shape)},
      {"work", neat(f.work)},
      {"makespan", neat(f.makespan)},
      {"idle of the makespan",
       neat(f.makespan - f.work) + " (" + base::format_percent(f.bubble()) + ")"},
      {"longest stage", neat(f.longest_stage)},
      {"idle of the longest stage",
       neat(f.longest_stage - f.work) + " (" + base::format_percent(f.longest_bubble()) + ")"},
      {"peak activations", range_text(f.peak)},
      {"receive buffers", std::to_string(f.buffers)},
      {"messages per microbatch", neat(f.messages)}};
  if (sim::has_updates(s.program))
    rows.emplace_back("staleness", describe(sim::staleness(s.program)));
  return rows;
}

std::string figures_text(const ScheduleSample& s) {
  const auto rows = figure_rows(s);
  std::size_t width = 0;
  for (const auto& [key, value] : rows) width = std::max(width, key.size());
  std::string text;
  for (const auto& [key, value] : rows)
    text += "  " + key + std::string(width + 2 - key.size(), ' ') + value + "\n";
  return text;
}

}  // namespace paceline::reports

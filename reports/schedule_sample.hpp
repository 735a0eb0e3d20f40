// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/schedules/schedule.hpp"
#include "sim/task_graph.hpp"

/// What a schedule looks like on a small pipeline, measured by the engine.
namespace paceline::reports {

/// A Program of the schedule with unit times: F, B and W of a rank take 1, so those of one of its
/// stages 1/chunks and of a slice less; other passes the same, updates, norms and messages nothing.
struct ScheduleSample {
  sim::PipelineShape shape;
  sim::Program program;
  sim::TaskGraph graph;
  sim::Timeline timeline;
};

/// The shape nearest to `ranks` and `microbatches` that the schedule accepts; two chunks a rank
/// where it takes any number. Throws base::Error when it accepts none nearby.
sim::PipelineShape accepted_shape(const sim::Schedule& schedule, int ranks, int microbatches);

/// Program, graph and timeline of a shape. Throws base::Error for a pass without a unit time.
ScheduleSample sample(const sim::Schedule& schedule, const sim::PipelineShape& shape);

/// Times count in passes of a whole rank, activations in microbatches of a whole rank.
struct ScheduleFigures {
  double work = 0;           ///< of the busiest rank
  double makespan = 0;       ///< of all ranks together
  double longest_stage = 0;  ///< of one rank, from its first to its last action
  std::vector<double> peak;  ///< stored activations, by rank
  int buffers = 0;           ///< messages per boundary that blocking sends need
  double messages = 0;       ///< between ranks, per microbatch
  double bubble() const { return makespan > 0 ? 1 - work / makespan : 0; }
  double longest_bubble() const { return longest_stage > 0 ? 1 - work / longest_stage : 0; }
};
ScheduleFigures figures(const ScheduleSample& sample);

/// The figures as pairs of words: "idle of the makespan", "9 (27.3 %)".
std::vector<std::pair<std::string, std::string>> figure_rows(const ScheduleSample& sample);
/// The same in lines for people.
std::string figures_text(const ScheduleSample& sample);

/// Ranks by time in letters: a line with the passes, one with the stages where a rank has several,
/// one with the microbatches (10 and on: a, b, ...). `colour`: escape sequences for a terminal.
std::string gantt_text(const ScheduleSample& sample, bool colour);

/// The same as an SVG picture.
std::string schedule_svg(const sim::Schedule& schedule, const ScheduleSample& sample);

/// "4 ranks, 2 chunks each, 8 microbatches".
std::string to_text(const sim::PipelineShape& shape);

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include "sim/steady.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "sim/updates.hpp"

namespace paceline::sim {
namespace {

std::size_t busiest_lane(const TaskGraph& graph) {
  std::vector<double> busy(graph.lanes.size(), 0);
  for (const Task& task : graph.tasks) {
    if (task.stream == Stream::Compute) busy[task.lane] += task.seconds;
  }
  return static_cast<std::size_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

/// Ends of the gradients of a lane, in time.
std::vector<double> gradient_ends(const Program& program, const TaskGraph& graph,
                                  const Timeline& timeline, std::size_t lane) {
  const std::vector<bool> gradient = gradient_passes(program);
  const std::vector<Action>& order = program.order[lane % program.order.size()];
  std::vector<double> end_of(order.size(), -1);  // an action may be several tasks
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.lane != lane || task.stream != Stream::Compute) continue;
    if (task.kind != TaskKind::Action && task.kind != TaskKind::Kernel) continue;
    if (task.origin >= order.size() || !gradient[order[task.origin].pass]) continue;
    end_of[task.origin] = std::max(end_of[task.origin], timeline.finish[t]);
  }
  std::vector<double> ends;
  for (const double end : end_of) {
    if (end >= 0) ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

}  // namespace

SteadyState steady_state(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                         int microbatches) {
  const int steps = microbatches < 1 ? 0 : program.microbatches / microbatches;
  if (steps < 2) {
    throw base::Error("program",
                      std::to_string(program.microbatches) + " microbatches are fewer than two " +
                          "steps of " + std::to_string(microbatches),
                      "a steady state needs a longer Program");
  }
  PACELINE_CHECK(!program.order.empty() && !graph.lanes.empty());
  const std::vector<double> ends = gradient_ends(program, graph, timeline, busiest_lane(graph));
  // Gradients of the lane in one step: its stages (and slices) times the microbatches.
  const std::size_t step = ends.size() * static_cast<std::size_t>(microbatches) /
                           static_cast<std::size_t>(program.microbatches);
  PACELINE_CHECK(step > 0);
  const std::size_t count = std::max<std::size_t>(1, ends.size() / 2 / step);
  const std::size_t first = std::min(ends.size() / 4, ends.size() - 1 - count * step);
  SteadyState state;
  state.from = ends[first];
  state.to = ends[first + count * step];
  state.steps = static_cast<double>(count);
  state.piece = static_cast<double>(program.microbatches) / microbatches;
  return state;
}

double steady_period(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                     int microbatches) {
  return steady_state(program, graph, timeline, microbatches).period();
}

int steady_microbatches(int ranks, int microbatches, int window) {
  const int middle = 2 * std::max(microbatches, window);
  const int wanted = std::max(2 * middle, 8 * ranks);
  return (wanted + microbatches - 1) / microbatches * microbatches;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/reference.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "sim/engine/graph_order.hpp"

namespace paceline::sim {
namespace {

constexpr double kWaiting = -1;   ///< in Timeline::finish: not looked at yet
constexpr double kExpanded = -2;  ///< its predecessors are being evaluated

[[noreturn]] void fail(const TaskGraph& graph, TaskId t, const std::string& problem) {
  throw base::Error("task graph", describe(graph, t) + " " + problem);
}

void check_task(const TaskGraph& graph, TaskId t) {
  const Task& task = graph.tasks[t];
  if (task.lane >= graph.lanes.size()) {
    fail(graph, t,
         "is on lane " + std::to_string(task.lane) + " of " + std::to_string(graph.lanes.size()));
  }
  if (static_cast<int>(task.stream) >= kStreams) fail(graph, t, "is on no known stream");
  if (!(task.seconds >= 0 && std::isfinite(task.seconds))) {
    fail(graph, t, "takes " + std::to_string(task.seconds) + " s; a finite time >= 0 is needed");
  }
  if (!(task.slowdown >= 1 && std::isfinite(task.slowdown))) {
    fail(graph, t, "has slowdown " + std::to_string(task.slowdown) + "; at least 1 is needed");
  }
}

[[noreturn]] void fail_dependency(const TaskGraph& graph, TaskId t) {
  for (const TaskId d : graph.dependencies(t)) {
    if (d >= graph.tasks.size()) {
      fail(graph, t,
           "waits for task " + std::to_string(d) + ", but there are only " +
               std::to_string(graph.tasks.size()));
    }
  }
  PACELINE_CHECK(false);
}

/// Names the tasks between the two visits of `again`, which the stack of depth-first evaluation
/// holds.
[[noreturn]] void fail_cycle(const TaskGraph& graph, const Workspace& workspace, TaskId again) {
  constexpr std::size_t kNamed = 5;
  const std::vector<TaskId>& stack = workspace.stack;
  std::string path = describe(graph, again);
  // From the top down: each waits for the one above it. A task pushed twice counts at its top
  // visit.
  std::vector<TaskId> named;
  for (std::size_t i = stack.size(); i-- > 0 && stack[i] != again;) {
    const TaskId t = stack[i];
    if (workspace.timeline.finish[t] != kExpanded) continue;
    if (std::find(named.begin(), named.end(), t) != named.end()) continue;
    if (named.size() == kNamed) {
      path += ", and so on";
      break;
    }
    path += ", for which waits " + describe(graph, t);
    named.push_back(t);
  }
  throw base::Error("task graph", "tasks wait for each other in a circle",
                    path + ", for which waits " + describe(graph, again));
}

/// Starts when its predecessors have finished; all of them have.
void finish_task(const TaskGraph& graph, Timeline& timeline, TaskId t, TaskId previous) {
  double begin = previous == kNoTask ? 0 : timeline.finish[previous];
  for (const TaskId d : graph.dependencies(t)) begin = std::max(begin, timeline.finish[d]);
  timeline.start[t] = begin;
  timeline.finish[t] = begin + graph.tasks[t].seconds;
  timeline.makespan = std::max(timeline.makespan, timeline.finish[t]);
}

void link_streams(const TaskGraph& graph, Workspace& workspace, bool stream_order) {
  workspace.previous.assign(graph.tasks.size(), kNoTask);
  if (!stream_order) return;
  std::vector<TaskId>& last = workspace.stack;
  last.assign(graph.lanes.size() * kStreams, kNoTask);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.stream != Stream::None)
      workspace.previous[t] = std::exchange(last[stream_slot(task)], t);
  }
}

}  // namespace

std::string describe(const TaskGraph& graph, TaskId t) {
  const Task& task = graph.tasks[t];
  std::string text = "task " + std::to_string(t) + " (";
  if (task.segment < graph.segments.size()) text += graph.segments[task.segment].name + ", ";
  return text + "lane " + std::to_string(task.lane) + ")";
}

GraphFacts inspect(const TaskGraph& graph) {
  const std::size_t n = graph.tasks.size();
  PACELINE_CHECK(n == 0 || graph.first_dep.size() == n + 1);
  PACELINE_CHECK(n == 0 || graph.first_dep.back() == graph.deps.size());
  GraphFacts facts;
  for (TaskId t = 0; t < n; ++t) {
    check_task(graph, t);
    facts.overlapping |= feels_overlap(graph.tasks[t]);
    std::uint64_t last = 0;
    for (const TaskId d : graph.dependencies(t)) last = std::max(last, std::uint64_t{d} + 1);
    if (last > n) fail_dependency(graph, t);
    facts.ordered &= last <= t;
  }
  return facts;
}

void evaluate_in_order(const TaskGraph& graph, Workspace& workspace) {
  Timeline& timeline = workspace.timeline;
  workspace.stream_end.assign(graph.lanes.size() * kStreams, 0.0);
  const TaskId n = static_cast<TaskId>(graph.tasks.size());
  const Task* const tasks = graph.tasks.data();
  double* const stream_end = workspace.stream_end.data();
  double* const start = timeline.start.data();
  double* const finish = timeline.finish.data();
  double makespan = 0;
  for (TaskId t = 0; t < n; ++t) {
    const std::size_t slot = stream_slot(tasks[t]);
    double begin = stream_end[slot];
    for (const TaskId d : graph.dependencies(t)) begin = std::max(begin, finish[d]);
    const double end = begin + tasks[t].seconds;
    start[t] = begin;
    finish[t] = end;
    stream_end[slot] = tasks[t].stream == Stream::None ? 0.0 : end;
    makespan = std::max(makespan, end);
  }
  timeline.makespan = makespan;
}

// A task is evaluated once its predecessors are; they are pushed above it. States live in
// `finish`, so the cost beyond the graph is one id per task and the stack.
void evaluate_depth_first(const TaskGraph& graph, Workspace& workspace, bool stream_order) {
  Timeline& timeline = workspace.timeline;
  std::vector<TaskId>& stack = workspace.stack;
  link_streams(graph, workspace, stream_order);
  timeline.finish.assign(graph.tasks.size(), kWaiting);
  timeline.makespan = 0;
  stack.clear();
  const auto push_unfinished = [&](TaskId t) {
    if (timeline.finish[t] == kExpanded) fail_cycle(graph, workspace, t);
    if (timeline.finish[t] == kWaiting) stack.push_back(t);
  };
  for (TaskId root = 0; root < graph.tasks.size(); ++root) {
    push_unfinished(root);
    while (!stack.empty()) {
      const TaskId t = stack.back();
      const TaskId previous = workspace.previous[t];
      const std::size_t depth = stack.size();
      if (timeline.finish[t] == kWaiting) {
        timeline.finish[t] = kExpanded;
        for (const TaskId d : graph.dependencies(t)) push_unfinished(d);
        if (previous != kNoTask) push_unfinished(previous);
        if (stack.size() > depth) continue;
      }
      if (timeline.finish[t] == kExpanded) finish_task(graph, timeline, t, previous);
      stack.pop_back();
    }
  }
}

const Timeline& run_reference(const TaskGraph& graph, Workspace& workspace,
                              const EngineOptions& options) {
  const GraphFacts facts = inspect(graph);
  Timeline& timeline = workspace.timeline;
  timeline.start.resize(graph.tasks.size());
  timeline.finish.resize(graph.tasks.size());
  timeline.makespan = 0;
  if (facts.overlapping || options.dispatch == models::Dispatch::Ready) {
    evaluate_events(graph, workspace, options);
  } else if (facts.ordered) {
    evaluate_in_order(graph, workspace);
  } else {
    evaluate_depth_first(graph, workspace);
  }
  if (!std::isfinite(timeline.makespan)) {
    throw base::Error("task graph", "the times add up to more than a number can hold");
  }
  return timeline;
}

Timeline run_reference(const TaskGraph& graph, const EngineOptions& options) {
  Workspace workspace;
  run_reference(graph, workspace, options);
  return std::move(workspace.timeline);
}

}  // namespace paceline::sim

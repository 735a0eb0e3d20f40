// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

#include "base/rng.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Up to 60 tasks on up to 4 lanes and all streams; every dependency was added before its task.
/// Times are multiples of 1/4 s, some of them zero, so that ties are common; slowdowns are powers
/// of two, so that all of it is exact in binary and a tie is a tie in every evaluation.
inline TaskGraph random_graph(base::Rng& rng, bool slowdown) {
  TaskGraph graph;
  graph.lanes.resize(1 + rng.below(4));
  const std::uint64_t count = 1 + rng.below(60);
  for (std::uint64_t t = 0; t < count; ++t) {
    Task task;
    task.seconds = static_cast<double>(rng.below(12)) / 4;
    task.lane = static_cast<std::uint32_t>(rng.below(graph.lanes.size()));
    task.origin = static_cast<std::uint32_t>(t);  // survives reordering
    task.stream = rng.below(2) == 0 ? Stream::Compute : static_cast<Stream>(rng.below(kStreams));
    if (slowdown) task.slowdown = static_cast<float>(1 << rng.below(3));
    std::vector<TaskId> deps;
    for (std::uint64_t d = t == 0 ? 0 : rng.below(4); d > 0; --d) {
      deps.push_back(static_cast<TaskId>(rng.below(t)));
    }
    graph.add(task, deps);
  }
  return graph;
}

/// The same graph added lane by lane: the order within each stream stays, dependencies may now name
/// tasks added later. Task::origin tells who is who.
inline TaskGraph by_lane(const TaskGraph& graph) {
  std::vector<TaskId> order(graph.tasks.size()), renamed(graph.tasks.size());
  for (TaskId t = 0; t < order.size(); ++t) order[t] = t;
  std::stable_sort(order.begin(), order.end(),
                   [&](TaskId a, TaskId b) { return graph.tasks[a].lane > graph.tasks[b].lane; });
  for (TaskId i = 0; i < order.size(); ++i) renamed[order[i]] = i;
  TaskGraph result;
  result.lanes = graph.lanes;
  for (const TaskId t : order) {
    std::vector<TaskId> deps;
    for (const TaskId d : graph.dependencies(t)) deps.push_back(renamed[d]);
    result.add(graph.tasks[t], deps);
  }
  return result;
}

}  // namespace paceline::sim

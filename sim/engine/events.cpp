// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/engine/event_queue.hpp"

namespace paceline::sim {

void evaluate_events(const TaskGraph& graph, Workspace& workspace, const EngineOptions& options) {
  const bool fixed = options.dispatch == models::Dispatch::Fixed;
  NoFlows none;
  EventQueue<NoFlows> queue(graph, workspace, options, none);
  queue.begin();
  while (!queue.idle()) queue.advance(queue.next_time());
  if (queue.complete()) return;
  evaluate_depth_first(graph, workspace, fixed);  // finds the circle and throws
  const std::vector<double>& finish = workspace.timeline.finish;
  const auto stuck = std::find(finish.begin(), finish.end(), kUnfinished);
  PACELINE_CHECK(stuck != finish.end());
  throw base::Error("task graph", describe(graph, static_cast<TaskId>(stuck - finish.begin())) +
                                      " never starts: ready dispatch finds nothing that can run");
}

}  // namespace paceline::sim

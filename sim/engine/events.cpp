// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "sim/engine/event_queue.hpp"

namespace paceline::sim {

void evaluate_events(const TaskGraph& graph, Workspace& workspace, const EngineOptions& options) {
  const bool fixed = options.dispatch == models::Dispatch::Fixed;
  NoFlows none;
  EventQueue<NoFlows> queue(graph, workspace, fixed, none);
  queue.begin();
  while (!queue.idle()) queue.advance(queue.next_time());
  if (queue.complete()) return;
  evaluate_depth_first(graph, workspace, fixed);  // finds the circle and throws
  PACELINE_CHECK(queue.complete());
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

#include "sim/engine/reference.hpp"

/// Parts of the reference engine that need no event queue.
namespace paceline::sim {

/// Row of the per-stream tables.
constexpr std::size_t stream_slot(const Task& task) {
  return std::size_t{task.lane} * kStreams + static_cast<std::size_t>(task.stream);
}

/// "task 12 (F stage 3, lane 1)", for messages.
std::string describe(const TaskGraph& graph, TaskId task);

struct GraphFacts {
  bool ordered = true;       ///< every dependency was added before the task
  bool overlapping = false;  ///< some task runs slower beside communication
};

/// Everything an engine relies on but the absence of cycles; throws base::Error.
GraphFacts inspect(const TaskGraph& graph);

/// Start and finish of all tasks at full rate. `in_order` needs GraphFacts::ordered;
/// `depth_first` takes any graph and throws base::Error naming a cycle.
void evaluate_in_order(const TaskGraph& graph, Workspace& workspace);
void evaluate_depth_first(const TaskGraph& graph, Workspace& workspace, bool stream_order = true);

/// The same with overlap or with `ready` dispatch: an event queue.
void evaluate_events(const TaskGraph& graph, Workspace& workspace, const EngineOptions& options);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/task_graph.hpp"

namespace paceline::sim {

/// The moment at which a task applies its segment's `at_start` or `at_finish`.
struct MemoryEvent {
  double time = 0;  ///< seconds
  TaskId task = 0;
  bool starts = false;
};

/// Allocations and frees of every lane in the order of time (of a lane; between lanes in any); what
/// ends at the same moment frees first.
std::vector<MemoryEvent> memory_events(const TaskGraph& graph, const Timeline& timeline);

}  // namespace paceline::sim

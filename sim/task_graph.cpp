// SPDX-License-Identifier: Apache-2.0
#include "sim/task_graph.hpp"

#include <limits>

#include "base/error.hpp"

namespace paceline::sim {

TaskId TaskGraph::add(const Task& task, std::span<const TaskId> dependencies) {
  constexpr std::size_t kLimit = std::numeric_limits<TaskId>::max();
  PACELINE_CHECK(tasks.size() < kLimit && dependencies.size() < kLimit - deps.size());
  if (first_dep.empty()) first_dep.push_back(0);
  deps.insert(deps.end(), dependencies.begin(), dependencies.end());
  first_dep.push_back(static_cast<std::uint32_t>(deps.size()));
  tasks.push_back(task);
  return static_cast<TaskId>(tasks.size() - 1);
}

void TaskGraph::reserve(std::size_t task_count, std::size_t dependency_count) {
  tasks.reserve(task_count);
  first_dep.reserve(task_count + 1);
  deps.reserve(dependency_count);
}

void TaskGraph::clear() {
  lanes.clear();
  segments.clear();
  tasks.clear();
  first_dep.clear();
  deps.clear();
  network = {};
  boundaries.clear();
}

}  // namespace paceline::sim

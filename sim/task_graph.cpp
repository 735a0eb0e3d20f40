// SPDX-License-Identifier: Apache-2.0
#include "sim/task_graph.hpp"

#include <algorithm>
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

void TaskGraph::add_dependencies(std::vector<Dependency> more) {
  if (more.empty()) return;
  std::stable_sort(more.begin(), more.end(),
                   [](const Dependency& a, const Dependency& b) { return a.task < b.task; });
  std::vector<TaskId> merged;
  merged.reserve(deps.size() + more.size());
  auto next = more.begin();
  for (TaskId t = 0; t < tasks.size(); ++t) {
    const std::span<const TaskId> own = dependencies(t);
    first_dep[t] = static_cast<std::uint32_t>(merged.size());  // own has been read already
    merged.insert(merged.end(), own.begin(), own.end());
    for (; next != more.end() && next->task == t; ++next) merged.push_back(next->after);
  }
  PACELINE_CHECK(next == more.end());
  first_dep.back() = static_cast<std::uint32_t>(merged.size());
  deps = std::move(merged);
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
  kernels.clear();
  exchanges.clear();
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Updates of a stage that several ranks hold (pipelines in several directions): its copies apply
/// the sum of their gradients, so the k-th update of each waits for the gradients of all.
class CopyUpdates {
 public:
  explicit CopyUpdates(std::size_t stages = 0) : stages_(stages) {}

  /// An update of the stage on a lane, in the order of the lane: its first task, and the tasks
  /// after which the lane's gradients are there.
  void added(int stage, int lane, TaskId first, std::span<const TaskId> gradients);
  /// Adds the dependencies; call once, after all updates are there. Lanes with fewer updates than
  /// others join as many as they have.
  void join(TaskGraph& graph) const;

 private:
  struct Update {
    TaskId first;
    std::vector<TaskId> gradients;
  };
  struct Copy {
    int lane;
    std::vector<Update> updates;
  };
  std::vector<std::vector<Copy>> stages_;
};

}  // namespace paceline::sim

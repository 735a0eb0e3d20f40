// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

#include "sim/lower/pass_role.hpp"
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Updates and norm barriers are fences: whatever the dispatch, nothing of their stage on their
/// rank overtakes them, and they overtake nothing.
class StageFences {
 public:
  /// Replicas of a pipeline have fences of their own.
  explicit StageFences(const Program& program)
      : program_(program), stages_(static_cast<std::size_t>(program.stages)) {
    if (std::any_of(program.passes.begin(), program.passes.end(), is_fence))
      fences_.resize(program.order.size() * stages_);
  }

  /// Adds what the action has to wait for because of fences.
  void add_needs(const Action& action, int rank, std::vector<TaskId>& needs) const {
    if (fences_.empty()) return;
    const Fence& fence = fences_[at(action, rank)];
    if (fence.task != kNoTask) needs.push_back(fence.task);
    if (is_fence(program_.passes[action.pass]))
      needs.insert(needs.end(), fence.since.begin(), fence.since.end());
  }
  /// The last task of the action; actions in the order of the rank.
  void added(const Action& action, int rank, TaskId task) {
    if (fences_.empty()) return;
    Fence& fence = fences_[at(action, rank)];
    if (is_fence(program_.passes[action.pass])) {
      fence = {task, {}};
    } else {
      fence.since.push_back(task);
    }
  }

 private:
  struct Fence {
    TaskId task = kNoTask;
    std::vector<TaskId> since;  ///< what has been added after it
  };

  static bool is_fence(const Pass& pass) {
    const SidePass side = side_of(pass.name);
    return side == SidePass::Update || side == SidePass::Norm;
  }
  std::size_t at(const Action& action, int rank) const {
    return static_cast<std::size_t>(rank) * stages_ + static_cast<std::size_t>(action.stage);
  }

  const Program& program_;
  std::size_t stages_;
  std::vector<Fence> fences_;  ///< by rank and stage; empty: no pass is one
};

}  // namespace paceline::sim

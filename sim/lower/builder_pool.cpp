// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/lower/builder.hpp"

/// Ranks without weights of their own (RoundPipe, arXiv 2604.27085): they fetch those of a stage
/// from host memory when they get to it and give its gradients back.
namespace paceline::sim {

/// Weights and gradients of two stages: the one at work and the one that is fetched or given back
/// beside it. The optimizer and its states are the host's.
void StepBuilder::hold_pool() {
  double weights = 0, gradients = 0;
  for (const StageWork& work : work_) {
    weights = std::max(weights, work.memory.parameters);
    gradients = std::max(gradients, work.memory.gradients);
  }
  for (Lane& lane : graph_.lanes) {
    lane.resident = {{MemoryPart::Parameters, 2 * weights},
                     {MemoryPart::Gradients, 2 * gradients},
                     {MemoryPart::Runtime, s_.stack.runtime_memory.value}};
  }
  fetched_.assign(graph_.lanes.size(), -1);
  fetch_window_.assign(graph_.lanes.size(), kNoTask);
}

/// The copy in begins when the stage before the one at work is done: there is room for two.
TaskId StepBuilder::fetch_weights(const ActionContext& action) {
  const auto lane = static_cast<std::size_t>(action.lane);
  const Copy copy{"fetch weights", Stream::CopyIn, stage_of(action).memory.parameters, {}, false};
  const TaskId id = add(task_of(action, TaskKind::Message, copy.stream, copy_segment(action, copy)),
                        after(fetch_window_[lane]));
  fetch_window_[lane] = last_compute_[lane];
  fetched_[lane] = action.action.stage;
  return id;
}

TaskId StepBuilder::add_pooled(const ActionContext& action) {
  const auto lane = static_cast<std::size_t>(action.lane);
  std::vector<TaskId> needs(action.inputs.begin(), action.inputs.end());
  if (fetched_[lane] != action.action.stage && !s_.costs) needs.push_back(fetch_weights(action));
  ActionContext ready = action;
  ready.inputs = needs;
  const TaskId done = add_whole(ready);
  if (s_.costs || !action.last || !gives_gradients(role(action))) return done;
  const Copy copy{
      "give back gradients", Stream::CopyOut, stage_of(action).memory.gradients, {}, false};
  add(task_of(action, TaskKind::Message, copy.stream, copy_segment(action, copy)), {&done, 1});
  return done;
}

}  // namespace paceline::sim

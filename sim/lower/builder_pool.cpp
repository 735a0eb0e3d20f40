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

/// Of the copy of a stage's weights in, or its gradients out.
std::uint16_t StepBuilder::weights_segment(const ActionContext& action, bool in) {
  const auto lane = static_cast<std::size_t>(action.lane);
  const StageWork& work = stage_of(action);
  const auto [found, fresh] = side_segments_.try_emplace(
      {in ? "fetch weights" : "give back gradients", rank_of(action.lane), action.action.stage},
      std::uint16_t{0});
  if (!fresh) return found->second;
  const std::size_t group = s_.cluster.place_of(graph_.lanes[lane].representative).group;
  const double bytes = in ? work.memory.parameters : work.memory.gradients;
  PassCost cost;
  cost.seconds = bytes / s_.cluster.groups[group].device.host_bandwidth.value;
  cost.parts[static_cast<std::size_t>(Part::Offload)] = cost.seconds;
  cost.bytes[static_cast<std::size_t>(in ? Stream::CopyIn : Stream::CopyOut)] = bytes;
  found->second = add_segment(graph_, in ? "fetch weights" : "give back gradients", cost);
  return found->second;
}

/// The copy in begins when the stage before the one at work is done: there is room for two.
TaskId StepBuilder::fetch_weights(const ActionContext& action) {
  const auto lane = static_cast<std::size_t>(action.lane);
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = TaskKind::Message;
  task.stream = Stream::CopyIn;
  task.segment = weights_segment(action, true);
  task.seconds = graph_.segments[task.segment].seconds;
  const TaskId id = add(task, after(fetch_window_[lane]));
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
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = TaskKind::Message;
  task.stream = Stream::CopyOut;
  task.segment = weights_segment(action, false);
  task.seconds = graph_.segments[task.segment].seconds;
  add(task, {&done, 1});
  return done;
}

}  // namespace paceline::sim

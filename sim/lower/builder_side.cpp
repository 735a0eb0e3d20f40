// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/builder.hpp"

/// Passes beside the layers: updates in the order, the norm of the gradients, offloaded
/// activations.
namespace paceline::sim {
namespace {

using models::CollectiveOp;

/// Bytes of a gradient that its norm reads.
constexpr double kNormBytes = 4;
/// What ranks exchange of the norm.
constexpr double kScalarBytes = 4;

}  // namespace

TaskId StepBuilder::add_side(const ActionContext& action, SidePass side) {
  switch (side) {
    case SidePass::Update:
      return add_update(action);
    case SidePass::Norm:
      return add_norm(action);
    case SidePass::Offload:
    case SidePass::Reload:
      return add_copy(action, side);
    case SidePass::None:
      break;
  }
  PACELINE_CHECK(false);
  return kNoTask;
}

/// Gradients of the stage over the replicas, its optimizer step, and under ZeRO the new weights:
/// the compute stream goes on when they are there.
TaskId StepBuilder::add_update(const ActionContext& action) {
  const auto l = static_cast<std::size_t>(action.lane);
  const StageWork& work = stage_of(action);
  std::vector<TaskId> needs(action.inputs.begin(), action.inputs.end());
  const bool reduces = dp_ranks_ > 1 && !s_.costs && !fsdp_;
  if (reduces && !bucketed_ && s_.parallel.zero != 2) {
    last_dp_[l] = reduce_gradients(action.lane, work.reduce_bytes, last_compute_[l], true);
  }
  if (last_dp_[l] != kNoTask) needs.push_back(last_dp_[l]);
  Task task = optimizer_task(action.lane, work.parameters);
  task.origin = action.position;
  TaskId last = add(task, needs);
  if (!reduces || s_.parallel.zero == 0 || bucketed_) return last;
  last = add_dp(action.lane, CollectiveOp::AllGather, work.gather_bytes,
                context(action.lane).data.shard, {&last, 1});
  task.seconds = 0;
  task.segment = timed_segment("weights are there", Part::Optimizer, 0);
  return add(task, {&last, 1});
}

TaskId StepBuilder::add_norm(const ActionContext& action) {
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = TaskKind::Optimizer;
  task.segment =
      timed_segment("gradient norm", Part::Optimizer,
                    stage_of(action).parameters * kNormBytes / context(action.lane).kernels.stream);
  task.seconds = graph_.segments[task.segment].seconds;
  return add(task, action.inputs);
}

/// What the stage stores of a microbatch, to the host or back at scenario.offload.bandwidth. It is
/// issued when the compute stream gets to its place in the order.
TaskId StepBuilder::add_copy(const ActionContext& action, SidePass side) {
  const bool out = side == SidePass::Offload;
  const auto lane = static_cast<std::size_t>(action.lane);
  const char* name = out ? "offload activations" : "reload activations";
  const auto [found, fresh] = side_segments_.try_emplace(
      {name, rank_of(action.lane), action.action.stage * 1024 + action.action.slice},
      std::uint16_t{0});
  if (fresh) {
    const double share = slices_[static_cast<std::size_t>(action.action.slice)].share();
    const double bytes = stage_of(action).memory.activation * share;
    const std::size_t group = s_.cluster.place_of(graph_.lanes[lane].representative).group;
    const double rate = s_.offload.bandwidth.value > 0
                            ? s_.offload.bandwidth.value
                            : s_.cluster.groups[group].device.host_bandwidth.value;
    PassCost cost;
    cost.seconds = bytes / rate;
    cost.parts[static_cast<std::size_t>(Part::Offload)] = cost.seconds;
    cost.bytes[static_cast<std::size_t>(out ? Stream::CopyOut : Stream::CopyIn)] = bytes;
    found->second = add_segment(graph_, name, cost);
    Segment& segment = graph_.segments[found->second];
    if (out) {
      segment.at_finish.push_back({MemoryPart::Activations, -bytes});
    } else {
      segment.at_start.push_back({MemoryPart::Activations, bytes});
    }
  }
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = TaskKind::Message;
  task.stream = out ? Stream::CopyOut : Stream::CopyIn;
  task.segment = found->second;
  task.seconds = graph_.segments[task.segment].seconds;
  std::vector<TaskId> needs(action.inputs.begin(), action.inputs.end());
  if (last_compute_[lane] != kNoTask) needs.push_back(last_compute_[lane]);
  return add(task, needs);
}

TaskId StepBuilder::add_broadcast(const ActionContext& action, TaskId done) {
  const bool activations = action.direction != Direction::None;
  using Names = std::array<std::string_view, 1>;
  const auto lane = static_cast<std::size_t>(action.lane);
  const int stride = plan_.meshes.front().axis("pp").stride;
  const int first = graph_.lanes[lane].representative - rank_of(action.lane) * stride;
  const models::CollectiveGroup pipeline = models::group_of(plan_, s_, Names{"pp"}, first);
  const double bytes = activations ? models::activation_element(s_.precision) * plan_.tokens *
                                         static_cast<double>(s_.model.hidden)
                                   : kScalarBytes;
  const CollectiveOp op = activations ? CollectiveOp::Broadcast : CollectiveOp::AllReduce;
  const char* name = activations ? "broadcast over pipeline" : "all_reduce over pipeline";
  const auto [found, fresh] = side_segments_.try_emplace({name, 0, 0}, std::uint16_t{0});
  if (fresh) {
    PassCost cost;
    cost.seconds =
        models::collective_time(op, base::Bytes(bytes), pipeline, *context(action.lane).nccl)
            .time.value;
    cost.parts[static_cast<std::size_t>(Part::ExposedPp)] = cost.seconds;
    cost.bytes[static_cast<std::size_t>(Stream::PpDown)] =
        models::bytes_sent_per_rank(op, base::Bytes(bytes), pipeline.ranks).value;
    found->second = add_segment(graph_, name, cost);
  }
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = TaskKind::Collective;
  task.stream = Stream::PpDown;
  task.segment = found->second;
  task.seconds = graph_.segments[task.segment].seconds;
  return add(task, {&done, 1});
}

}  // namespace paceline::sim

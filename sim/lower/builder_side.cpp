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
    case SidePass::VocabularyForward:
    case SidePass::VocabularyBackward:
      return add_vocabulary(action, side);
    case SidePass::Foreign:
      return add_foreign(action);
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
  const std::size_t mesh = mesh_of_stage(action.action.stage);
  const MeshPart& part = parts_[mesh];
  const bool reduces = part.data_parallel && !part.s->costs && !part.fsdp;
  if (reduces && !part.bucketed && part.s->parallel.zero != 2) {
    const TaskId made = ready_ ? join(l, action.inputs) : last_compute_[l];
    last_dp_[l] = reduce_gradients(action.lane, mesh, work.reduce_bytes, made, true);
  }
  if (last_dp_[l] != kNoTask) needs.push_back(last_dp_[l]);
  Task task = optimizer_task(action.lane, mesh, work.parameters);
  task.origin = action.position;
  const TaskId exchanged = exchange_copies(action, work.reduce_bytes.sum());
  if (exchanged != kNoTask) needs.push_back(exchanged);
  TaskId last = add(task, needs);
  if (!reduces || part.s->parallel.zero == 0 || part.bucketed) return last;
  last = gather_parameters(action.lane, mesh, work.gather_bytes, last);
  PACELINE_CHECK(last != kNoTask);
  task.seconds = 0;
  task.segment = timed_segment("weights are there", Part::Optimizer, 0);
  return add(task, {&last, 1});
}

/// The copies of the stage add up their gradients, as a ring: over n ranks 2(n-1)/n of what a pair
/// takes. kNoTask where there is one copy.
TaskId StepBuilder::exchange_copies(const ActionContext& action, double bytes) {
  const std::vector<int>& ranks = placement_.ranks[static_cast<std::size_t>(action.action.stage)];
  if (ranks.size() < 2 || s_.costs) return kNoTask;
  const auto l = static_cast<std::size_t>(action.lane);
  const auto copies = static_cast<double>(ranks.size());
  std::vector<TaskId> gradients(action.inputs.begin(), action.inputs.end());
  if (!ready_) gradients.push_back(last_compute_[l]);
  if (last_dp_[l] != kNoTask) gradients.push_back(last_dp_[l]);
  const auto [found, fresh] = side_segments_.try_emplace(
      {"all_reduce copies", 0, action.action.stage, 0}, std::uint16_t{0});
  if (fresh) {
    PassCost cost;
    cost.seconds = pair_time(ranks[0], ranks[1], bytes).time.value * 2 * (copies - 1) / copies;
    cost.parts[static_cast<std::size_t>(Part::ExposedDp)] = cost.seconds;
    cost.bytes[static_cast<std::size_t>(Stream::Dp)] = bytes * 2 * (copies - 1) / copies;
    found->second = add_segment(graph_, "all_reduce copies", cost);
  }
  const TaskId id =
      add(task_of(action, TaskKind::Collective, Stream::Dp, found->second), gradients);
  const int replica = action.lane / pipeline_ranks();
  copy_updates_.added(replica * static_cast<int>(placement_.ranks.size()) + action.action.stage,
                      action.lane, id, gradients);
  last_dp_[l] = id;
  return id;
}

TaskId StepBuilder::add_norm(const ActionContext& action) {
  const std::uint16_t segment =
      timed_segment("gradient norm", Part::Optimizer,
                    stage_of(action).parameters.all * kNormBytes / context(action).kernels.stream);
  return add(task_of(action, TaskKind::Optimizer, Stream::Compute, segment), action.inputs);
}

std::uint16_t StepBuilder::copy_segment(const ActionContext& action, const Copy& copy) {
  const auto [found, fresh] = side_segments_.try_emplace(
      {copy.name, rank_of(action.lane), action.action.stage, action.action.slice},
      std::uint16_t{0});
  if (!fresh) return found->second;
  const int device = graph_.lanes[static_cast<std::size_t>(action.lane)].representative;
  const std::size_t group = s_.cluster.place_of(device).group;
  const models::Profile& profile = s_.profiles[group];
  const auto& measured = copy.stream == Stream::CopyOut ? profile.to_host : profile.to_device;
  const double own =
      measured ? measured->rate.value : s_.cluster.groups[group].device.host_bandwidth.value;
  const double rate = copy.rate.value > 0 ? copy.rate.value : own;
  PassCost cost;
  cost.seconds = copy.bytes / rate;
  if (measured && copy.rate.value <= 0) cost.seconds += measured->latency.value;
  cost.parts[static_cast<std::size_t>(Part::Offload)] = cost.seconds;
  cost.bytes[static_cast<std::size_t>(copy.stream)] = copy.bytes;
  found->second = add_segment(graph_, copy.name, cost);
  Segment& segment = graph_.segments[found->second];
  if (copy.activations && copy.stream == Stream::CopyOut)
    segment.at_finish.push_back({MemoryPart::Activations, -copy.bytes});
  if (copy.activations && copy.stream == Stream::CopyIn)
    segment.at_start.push_back({MemoryPart::Activations, copy.bytes});
  return found->second;
}

/// What the stage stores of a microbatch, to the host or back at scenario.offload.bandwidth. It is
/// issued when the compute stream gets to its place in the order.
TaskId StepBuilder::add_copy(const ActionContext& action, SidePass side) {
  const bool out = side == SidePass::Offload;
  const auto lane = static_cast<std::size_t>(action.lane);
  const double share = slices_[static_cast<std::size_t>(action.action.slice)].share();
  const Copy copy{out ? "offload activations" : "reload activations",
                  out ? Stream::CopyOut : Stream::CopyIn,
                  stage_of(action).memory.activation * share, s_.offload.bandwidth, true};
  std::vector<TaskId> needs(action.inputs.begin(), action.inputs.end());
  if (last_compute_[lane] != kNoTask) needs.push_back(last_compute_[lane]);
  return add(task_of(action, TaskKind::Message, copy.stream, copy_segment(action, copy)), needs);
}

/// A piece of work that is not this job's: idle time as far as the job's breakdown goes, hence the
/// bubble. It takes its turn on the compute stream; what waits for the lane's compute so far
/// (copies, collectives) does not wait for it.
TaskId StepBuilder::add_foreign(const ActionContext& action) {
  const std::uint16_t segment =
      timed_segment("foreign work", Part::Bubble, s_.foreign.seconds.value);
  return graph_.add(task_of(action, TaskKind::Action, Stream::Compute, segment), action.inputs);
}

/// Bytes that one rank gives to all: the activations of a stage's output, or of S the maximum and
/// sum of a token's exponentials, with the partial gradient of the last stage's output where S or T
/// makes it.
double StepBuilder::shared_bytes(const ActionContext& action) const {
  const double activations = models::activation_element(s_.precision) * plan_.tokens *
                             static_cast<double>(s_.model.hidden);
  const double statistics = 2 * sizeof(float) * plan_.tokens;
  switch (sides_[action.action.pass]) {
    case SidePass::VocabularyForward:
      return statistics + (early_gradient_ ? activations : 0);
    case SidePass::Norm:
      return kScalarBytes;
    default:
      return activations;
  }
}

/// Activations go from one rank to all; what all ranks have a part of is added up.
TaskId StepBuilder::add_broadcast(const ActionContext& action, TaskId done) {
  const bool one = action.direction != Direction::None;
  const auto lane = static_cast<std::size_t>(action.lane);
  const char* name = one                                   ? "broadcast over pipeline"
                     : shared_bytes(action) > kScalarBytes ? "all_reduce vocabulary"
                                                           : "all_reduce norm";
  const auto [found, fresh] = side_segments_.try_emplace(
      {name, static_cast<int>(action.action.pass), 0, 0}, std::uint16_t{0});
  if (fresh) {
    using Names = std::array<std::string_view, 1>;
    const int first =
        graph_.lanes[lane].representative - device_of(rank_of(action.lane)) + device_of(0);
    const models::CollectiveGroup pipeline = models::group_of(plan_, s_, Names{"pp"}, first);
    const CollectiveOp op = one ? CollectiveOp::Broadcast : CollectiveOp::AllReduce;
    const base::Bytes bytes(shared_bytes(action));
    PassCost cost;
    cost.seconds =
        s_.costs ? s_.costs->hop.value
                 : models::collective_time(op, bytes, pipeline, *context(action).nccl).time.value;
    cost.parts[static_cast<std::size_t>(Part::ExposedPp)] = cost.seconds;
    cost.bytes[static_cast<std::size_t>(Stream::PpAll)] =
        models::bytes_sent_per_rank(op, bytes, pipeline.ranks).value;
    found->second = add_segment(graph_, name, cost);
  }
  return add(task_of(action, TaskKind::Collective, Stream::PpAll, found->second), {&done, 1});
}

}  // namespace paceline::sim

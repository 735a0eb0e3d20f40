// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/lower/builder.hpp"
#include "sim/lower/pair_cost.hpp"

/// Actions as tasks: whole, or layer by layer where data parallelism works beside them.
namespace paceline::sim {

bool StepBuilder::expands(const ActionContext& action) const {
  return inner_ || expands_for_data(action) || copies_gradients(action);
}

/// Gradients go to the host layer by layer, once they are added up.
bool StepBuilder::copies_gradients(const ActionContext& action) const {
  const MeshPart& part = part_of(action);
  const models::OptimizerOffload& offload = part.s->optimizer.offload;
  const bool final = action.last && gives_gradients(role(action));
  // Reduced at the end of the step only: there is nothing to send before.
  const bool ready =
      !part.data_parallel || part.fsdp || part.bucketed || part.s->parallel.zero == 2;
  return offload.host() && offload.beside_backward && final && ready && !part.s->frozen &&
         !part.s->costs;
}

bool StepBuilder::expands_for_data(const ActionContext& action) const {
  const MeshPart& part = part_of(action);
  if (part.s->costs || !part.data_parallel) return false;
  if (part.fsdp) return true;
  if (part.s->frozen) return false;
  const Role r = role(action);
  // Only shards of the gradients stay: every microbatch reduces its own.
  if (part.s->parallel.zero == 2 && gives_gradients(r)) return true;
  if (!part.bucketed) return false;
  if (r == Role::Forward) return action.first && part.s->parallel.zero >= 1;
  return gives_gradients(r) && action.last;
}

bool StepBuilder::ends_count() const {
  const MeshPart& part = parts_.front();  // ready dispatch has one
  return !s_.costs && part.data_parallel && (part.bucketed || s_.parallel.zero == 2);
}

TaskId StepBuilder::add_action(const ActionContext& action) {
  const SidePass side = sides_[action.action.pass];
  if (side != SidePass::None) return add_side(action, side);
  if (pooled_) return add_pooled(action);
  return expands(action) ? add_expanded(action) : add_whole(action);
}

TaskId StepBuilder::add_whole(const ActionContext& action) {
  const std::uint16_t segment =
      overlaps(action) ? pair_segment(action) : work_of(action).segment[index_of(role(action))];
  return add(task_of(action, TaskKind::Action, Stream::Compute, segment), action.inputs);
}

bool StepBuilder::overlaps(const ActionContext& action) const {
  if (!s_.moe.overlap || action.partner == nullptr || s_.costs) return false;
  const ActionContext& other = *action.partner;
  return sides_[other.action.pass] == SidePass::None && !expands(action) && !expands(other);
}

/// Of the first of a pair what passes until it is done, of the second the rest.
std::uint16_t StepBuilder::pair_segment(const ActionContext& action) {
  const ActionContext& first = action.leads ? action : *action.partner;
  const ActionContext& second = action.leads ? *action.partner : action;
  const std::size_t role1 = index_of(role(first)), role2 = index_of(role(second));
  const SliceWork &work1 = work_of(first), &work2 = work_of(second);
  const std::pair key{work1.segment[role1], work2.segment[role2]};
  const auto [found, fresh] = pair_segments_.try_emplace(key);
  const std::size_t which = action.leads ? 0 : 1;
  if (!fresh) return found->second[which];
  const PairCost pair =
      pair_cost(*work1.whole[role1], *work2.whole[role2], context(action).overlap_slowdown);
  for (std::size_t i = 0; i < 2; ++i) {
    Segment segment = graph_.segments[i == 0 ? key.first : key.second];
    segment.inner.clear();
    segment.seconds = i == 0 ? pair.first_end : pair.seconds - pair.first_end;
    for (std::size_t p = 0; p < kParts; ++p)
      segment.parts[p] = pair.parts[p] * (pair.seconds > 0 ? segment.seconds / pair.seconds : 0);
    graph_.segments.push_back(std::move(segment));
    found->second[i] = static_cast<std::uint16_t>(graph_.segments.size() - 1);
  }
  return found->second[which];
}

const StepBuilder::Markers& StepBuilder::markers(std::uint16_t segment) {
  if (markers_.size() <= segment) markers_.resize(graph_.segments.size());
  Markers& m = markers_[segment];
  if (m.ready) return m;
  Segment open, close;
  open.name = graph_.segments[segment].name;
  close.name = open.name;
  open.at_start = graph_.segments[segment].at_start;
  close.at_finish = graph_.segments[segment].at_finish;
  graph_.segments.push_back(open);
  m.open = static_cast<std::uint16_t>(graph_.segments.size() - 1);
  graph_.segments.push_back(close);
  m.close = static_cast<std::uint16_t>(graph_.segments.size() - 1);
  m.ready = true;
  return m;
}

/// Layer by layer, so that gathers and reductions of parameters run beside the neighbours' compute.
/// Gathers run at most two parts ahead.
TaskId StepBuilder::add_expanded(const ActionContext& action) {
  const SliceWork& work = work_of(action);
  const Role r = role(action);
  const bool forward = r == Role::Forward || r == Role::Recompute;
  const Markers marks = markers(work.segment[index_of(r)]);
  const bool for_data = expands_for_data(action);
  const std::size_t mesh = mesh_of_stage(action.action.stage);
  const bool fsdp = parts_[mesh].fsdp;
  const bool gathers = for_data && (fsdp ? needs_weights(r) && action.opens : r == Role::Forward);
  const bool reduces = for_data && gives_gradients(r) && (!fsdp || action.closes);
  const bool copies = copies_gradients(action);
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  // Gathers follow what stands before the mark that waits for the inputs.
  if (fsdp && for_data && action.opens && !action.closes) keep_whole(action, task);
  task.segment = marks.open;
  add(task, action.inputs);
  task.kind = TaskKind::Kernel;
  if (for_data) task.slowdown = static_cast<float>(context(action).overlap_slowdown);
  const std::size_t count = work.parts.size();
  const auto part_at = [&](std::size_t i) -> const PassPart& {
    return work.parts[forward ? i : count - 1 - i];
  };
  const auto gather = [&](std::size_t i) {
    if (!gathers || i >= count || part_at(i).gather_bytes.sum() <= 0) return kNoTask;
    // No telling what will run before: gathers of ready dispatch begin with the step.
    const TaskId window = ready_ ? kNoTask : compute_before_[task.lane];
    return gather_parameters(action.lane, mesh, part_at(i).gather_bytes, window);
  };
  TaskId gathered = gather(0);
  for (std::size_t i = 0; i < count; ++i) {
    const TaskId next = gather(i + 1);
    const PassPart& part = part_at(i);
    const TaskId done = add_part(task, part, r, gathered);
    gathered = next;
    const bool any = part.reduce_bytes.sum() > 0;
    if (reduces && any) {
      last_dp_[task.lane] =
          reduce_gradients(action.lane, mesh, part.reduce_bytes, done, action.last);
    }
    if (copies && any) {
      const double element = models::element_bytes(s_.stack.gradient_reduce);
      copy_gradients(action.lane, mesh,
                     {part.reduce_bytes.sum() / element, part.reduce_bytes.experts / element},
                     reduces ? last_dp_[task.lane] : done);
    }
  }
  task.slowdown = 1;
  task.seconds = 0;
  if (fsdp && for_data && action.closes && !action.opens) keep_whole(action, task);
  task.kind = TaskKind::Action;
  task.segment = marks.close;
  return add(task, {});
}

}  // namespace paceline::sim

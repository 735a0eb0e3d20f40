// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "sim/lower/builder.hpp"
#include "sim/lower/chunks.hpp"

/// What engines that share links need: passes piece by piece, and what each task sends where.
namespace paceline::sim {

TaskId StepBuilder::add_part(Task task, const PassPart& part, Role role, TaskId gathered) {
  const auto& pieces = part.inner[index_of(role)];
  task.segment = part.segment[index_of(role)];
  if (inner_ && pieces != nullptr) return add_pieces(task, *pieces, gathered);
  task.seconds = graph_.segments[task.segment].seconds;
  return add(task, after(gathered));
}

/// The pieces of a part follow the part before: the last piece stands for it, and the compute
/// stream keeps the order. An end of no length waits for all.
TaskId StepBuilder::add_pieces(Task task, const std::vector<InnerTask>& pieces, TaskId gathered) {
  const TaskId before = last_compute_[task.lane];
  std::vector<TaskId> ids, deps;
  for (const InnerTask& piece : pieces) {
    deps.clear();
    for (const std::uint32_t d : piece.deps) deps.push_back(ids[d]);
    if (deps.empty()) {
      if (before != kNoTask) deps.push_back(before);
      if (gathered != kNoTask) deps.push_back(gathered);
    }
    Task t = task;
    t.segment = piece_segment(piece);
    t.seconds = piece.seconds;
    t.stream = piece.stream;
    if (piece.stream != Stream::Compute) {
      t.kind = TaskKind::Collective;
      t.slowdown = 1;
    }
    ids.push_back(add(t, deps));
    if (piece.stream != Stream::Compute) note_piece(ids.back(), piece);
  }
  task.segment = end_segment(task.segment);
  task.seconds = 0;
  const TaskId end = add(task, ids);
  compute_before_[task.lane] = before;  // gathers count parts, not pieces
  return end;
}

/// Takes no time; the arithmetic of the whole part is counted here.
std::uint16_t StepBuilder::end_segment(std::uint16_t part) {
  const auto [found, fresh] = end_segments_.try_emplace(part, std::uint16_t{0});
  if (!fresh) return found->second;
  PassCost cost;
  cost.flops = graph_.segments[part].flops;
  found->second = add_segment(graph_, "end of " + graph_.segments[part].name, cost);
  return found->second;
}

std::uint16_t StepBuilder::piece_segment(const InnerTask& piece) {
  const int phase = piece.kernel == nullptr ? -1 : static_cast<int>(piece.kernel->phase);
  const auto [found, fresh] =
      piece_segments_.try_emplace({piece.name, phase, piece.seconds, piece.size}, std::uint16_t{0});
  if (!fresh) return found->second;
  PassCost cost;
  cost.seconds = piece.seconds;
  cost.parts[static_cast<std::size_t>(piece.part)] = piece.seconds;
  cost.bytes[static_cast<std::size_t>(piece.stream)] = piece.sent;
  found->second = add_segment(graph_, std::string(piece.name), cost);
  if (piece.kernel != nullptr) note_kernel(found->second, piece.kernel);
  return found->second;
}

void StepBuilder::note_kernel(std::uint16_t segment, std::shared_ptr<const models::Op> kernel) {
  if (graph_.kernels.size() <= segment) graph_.kernels.resize(segment + std::size_t{1});
  graph_.kernels[segment] = std::move(kernel);
}

namespace {

/// Ranks of the group along the axes that one of its members stands in.
std::vector<int> members_of(int rank, const std::vector<models::Axis>& axes) {
  std::vector<int> ranks{rank};
  for (const models::Axis& axis : axes) {
    std::vector<int> all;
    for (const int r : ranks) {
      const int stride = static_cast<int>(axis.stride), size = axis.count;
      const int first = r - r / stride % size * stride;
      for (int i = 0; i < size; ++i) all.push_back(first + i * stride);
    }
    ranks = std::move(all);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

void StepBuilder::add_exchanges() {
  for (const NetworkTask& note : network_tasks_) {
    const int lane = static_cast<int>(graph_.tasks[note.task].lane);
    const int rank = graph_.lanes[static_cast<std::size_t>(lane)].representative;
    Exchange exchange{note.task, note.op, note.size, {}};
    if (note.axes != nullptr) {
      exchange.ranks = members_of(rank, *note.axes);
    } else {
      const int replica = rank - device_of(rank_of(lane));
      exchange.ranks = {note.from + replica, note.to + replica};
      if (note.op != models::CollectiveOp::SendRecv)
        std::sort(exchange.ranks.begin(), exchange.ranks.end());
    }
    graph_.exchanges.push_back(std::move(exchange));
  }
}

const std::vector<models::Axis>& StepBuilder::axes_of(models::GroupAxis axis) const {
  switch (axis) {
    case models::GroupAxis::Tp:
      return tp_axes_;
    case models::GroupAxis::Cp:
      return cp_axes_;
    case models::GroupAxis::CpInner:
      return cp_inner_axes_;
    case models::GroupAxis::CpOuter:
      return cp_outer_axes_;
    case models::GroupAxis::Servers:
      return axes_.all;
    case models::GroupAxis::Ep:
      return expert_axes_.ep;
    case models::GroupAxis::Etp:
      break;
  }
  return expert_axes_.etp;
}

void StepBuilder::note_piece(TaskId task, const InnerTask& piece) {
  NetworkTask note;
  note.task = task;
  note.op = piece.op;
  note.algorithm = piece.algorithm;
  note.size = piece.size;
  note.fluid = piece.fluid;
  note.axes = &axes_of(piece.axis);
  network_tasks_.push_back(note);
}

/// Collectives inside passes meet others where they leave the node, or go over a PCIe tree.
bool StepBuilder::shares_inner() const {
  const auto meets = [](const models::CollectiveGroup& group) {
    return group.ranks > 1 && (group.domains > 1 || (group.intra != nullptr &&
                                                     group.intra->kind == models::LinkKind::Pcie));
  };
  return std::any_of(contexts_.begin(), contexts_.end(), [&](const auto& c) {
    return meets(c->tp) || meets(c->cp) || meets(c->experts.ep) || meets(c->experts.etp);
  });
}

void StepBuilder::note_message(TaskId task, int lane, const Hop& hop) {
  if (!network_) return;
  NetworkTask note;
  note.task = task;
  note.size = hop.size;
  note.fluid = hop.fluid;
  note.from = device_of(rank_of(lane));
  note.to = device_of(hop.receiver);
  network_tasks_.push_back(note);
}

void StepBuilder::note_collective(TaskId task, const DpSegment& collective) {
  if (!network_) return;
  const CostContext& parts = context(static_cast<int>(graph_.tasks[task].lane), 0);
  const models::DataGroups &data = parts.data, &experts = parts.experts.data;
  NetworkTask note;
  note.task = task;
  note.op = collective.op;
  note.algorithm = collective.choice.algorithm;
  note.size = collective.bytes;
  note.fluid = (collective.choice.time - collective.choice.latency).value;
  const bool of_experts = collective.group == &experts.all || collective.group == &experts.shard;
  note.axes = of_experts                        ? &expert_axes_.data.all
              : collective.group == &data.all   ? &axes_.all
              : collective.group == &data.shard ? &axes_.shard
                                                : &axes_.replicas;
  network_tasks_.push_back(note);
}

TaskGraph StepBuilder::take() {
  if (kernels_) add_exchanges();
  if (!network_ || kernels_) return std::move(graph_);
  std::vector<std::string> assumptions;
  if (chunks_) {
    ChunkedTasks chunked = expand_chunks(graph_, s_, std::move(network_tasks_));
    network_tasks_ = std::move(chunked.tasks);
    assumptions = std::move(chunked.assumptions);
  }
  attach_network(graph_, s_, plan_, network_tasks_, replicas_);
  graph_.network.assumptions = std::move(assumptions);
  return std::move(graph_);
}

}  // namespace paceline::sim

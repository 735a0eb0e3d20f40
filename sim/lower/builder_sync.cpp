// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/cost/collnet.hpp"
#include "models/cost/memory.hpp"
#include "sim/lower/builder.hpp"
#include "sim/lower/optimizer_cost.hpp"

/// The end of the step: gradients, optimizer, parameters.
namespace paceline::sim {
namespace {

using models::CollectiveOp;
using models::Scenario;

/// A part of the gradients under one rule; null: as they are.
struct RuledShare {
  const models::CompressionRule* rule = nullptr;
  double share = 1;
};

/// What `compression` makes of gradients: codec kernels run on the stream of the collective. Linear
/// layers count as squares of the hidden size. Parts under different rules follow one another.
PassCost plain_or_encoded(const CostContext& c, CollectiveOp op, double bytes,
                          const models::CollectiveGroup& group,
                          const std::vector<RuledShare>& shares) {
  const Scenario& s = *c.scenario;
  PassCost cost;
  double wire = 0, codec = 0;
  double& sent = cost.bytes[static_cast<std::size_t>(Stream::Dp)];
  for (const RuledShare& part : shares) {
    const double size = part.share * bytes;
    if (part.rule == nullptr) {
      const auto choice = models::collective_time(op, base::Bytes(size), group, *c.nccl);
      wire += choice.time.value;
      sent += models::bytes_sent(op, choice.algorithm, base::Bytes(size), group).value;
      continue;
    }
    const auto hidden = static_cast<double>(s.model.hidden);
    const double element = models::element_bytes(s.stack.gradient_reduce);
    const models::CodecTensor tensor{hidden, hidden, size / element / hidden / hidden, element};
    const auto t = models::compressed_time(op, *part.rule, tensor, group, *c.nccl, c.kernels);
    wire += t.wire.value;
    codec += (t.encode + t.decode).value;
    sent += t.sent.value;
  }
  cost.seconds = wire + codec;
  cost.parts[static_cast<std::size_t>(Part::ExposedDp)] = wire;
  cost.parts[static_cast<std::size_t>(Part::Codec)] = codec;
  return cost;
}

/// Of the gradients of so many stages, by rule. Those of embedding and head are of no layer; dense
/// ones and those of experts count as spread alike.
std::vector<RuledShare> ruled_shares(const Scenario& s, const models::Plan& plan,
                                     const std::vector<int>& stages, double all,
                                     const models::CollectiveGroup& group) {
  std::vector<RuledShare> shares;
  const auto add = [&](const models::CompressionRule* rule, double share) {
    if (share <= 0) return;
    for (RuledShare& known : shares) {
      if (known.rule != rule) continue;
      known.share += share;
      return;
    }
    shares.push_back({rule, share});
  };
  double layers = 0;
  const int experts = s.parallel.ep * s.parallel.etp;
  for (const int stage : stages) {
    const models::Stage& of = plan.stages[static_cast<std::size_t>(stage)];
    for (int i = 0; i < of.layers; ++i) {
      const models::Layer& layer = models::layer_at(s.model, of, i);
      const double share =
          models::held_parameters(s.model, layer, s.parallel.tp, experts).sum() / all;
      add(models::rule_for(s.compression, "dp", group, of.first_layer + i), share);
      layers += share;
    }
  }
  constexpr double kRounding = 1e-9;
  if (layers < 1 - kRounding) add(models::rule_for(s.compression, "dp", group), 1 - layers);
  return shares;
}

/// What codecs of so many gradients keep from step to step.
double codec_state(const Scenario& s, const models::Plan& plan, const std::vector<int>& stages,
                   const models::CollectiveGroup& group, double elements) {
  if (elements <= 0) return 0;
  const auto hidden = static_cast<double>(s.model.hidden);
  double state = 0;
  for (const RuledShare& part : ruled_shares(s, plan, stages, elements, group)) {
    if (part.rule == nullptr) continue;
    const models::CodecTensor tensor{hidden, hidden, part.share * elements / hidden / hidden,
                                     models::element_bytes(s.stack.gradient_reduce)};
    models::CodecSettings settings = part.rule->settings;
    settings.workers = group.ranks;
    state += part.rule->codec->encoded(settings, tensor).state_bytes;
  }
  return state;
}

}  // namespace

std::vector<int> StepBuilder::held_stages(int rank, std::size_t mesh) const {
  std::vector<int> held;
  for (const int stage : placement_.stages[static_cast<std::size_t>(rank)])
    if (mesh_of_stage(stage) == mesh) held.push_back(stage);
  return held;
}

void StepBuilder::hold_codec_state() {
  for (std::size_t l = 0; l < graph_.lanes.size(); ++l) {
    const int lane = static_cast<int>(l);
    for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh) {
      const models::Scenario& s = *parts_[mesh].s;
      const std::vector<int> held = held_stages(rank_of(lane), mesh);
      if (s.compression.empty() || s.costs || !parts_[mesh].data_parallel || held.empty()) continue;
      const double state = codec_state(
          s, plan_, held, context(lane, mesh).data.all,
          sum_stages(l, mesh, [](const StageWork& work) { return work.parameters; }).all);
      if (state > 0) graph_.lanes[l].resident.push_back({MemoryPart::Buffers, state});
    }
  }
}

/// One collective of a lane's data-parallel stream; equal ones share a segment.
TaskId StepBuilder::add_dp(int lane, std::size_t mesh, CollectiveOp op, double bytes,
                           const models::CollectiveGroup& group, std::span<const TaskId> deps) {
  const bool by_layer = models::rules_by_layer(s_.compression, "dp");
  const int whose = by_layer ? lane : 0;
  auto found = std::find_if(dp_segments_.begin(), dp_segments_.end(), [&](const DpSegment& e) {
    return e.bytes == bytes && e.op == op && e.group == &group && e.lane == whose;
  });
  if (found == dp_segments_.end()) {
    const CostContext& c = context(lane, mesh);
    const auto choice = models::collective_time(op, base::Bytes(bytes), group, *c.nccl);
    const bool gradients = op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter;
    std::vector<RuledShare> shares{{}};
    if (gradients && by_layer) {
      const double all =
          sum_stages(static_cast<std::size_t>(lane), mesh, [](const StageWork& work) {
            return work.parameters;
          }).all;
      shares = ruled_shares(s_, plan_, held_stages(rank_of(lane), mesh), all, group);
    } else if (gradients) {
      shares.front().rule = models::rule_for(s_.compression, "dp", group);
    }
    PassCost cost = plain_or_encoded(c, op, bytes, group, shares);
    cost.seconds += s_.stack.collective_overhead.value;
    cost.parts[static_cast<std::size_t>(Part::ExposedDp)] += s_.stack.collective_overhead.value;
    const std::string name = std::string(models::to_text(op)) + " dp";
    dp_segments_.push_back({bytes, op, &group, whose, add_segment(graph_, name, cost), choice});
    found = dp_segments_.end() - 1;
  }
  Task task;
  task.lane = static_cast<std::uint32_t>(lane);
  task.kind = TaskKind::Collective;
  task.stream = Stream::Dp;
  task.segment = found->segment;
  task.seconds = graph_.segments[task.segment].seconds;
  task.origin = static_cast<std::uint32_t>(graph_.tasks.size());
  const TaskId id = add(task, deps);
  note_collective(id, *found);
  return id;
}

/// Gradients of `bytes`: summed over all ranks, or to the shard that keeps them, and under HSDP
/// once a step (`final`) over the replicas of the shard.
TaskId StepBuilder::reduce_over(int lane, std::size_t mesh, double bytes,
                                const models::DataGroups& data, TaskId after, bool final) {
  if (bytes <= 0 || data.all.ranks <= 1) return after;
  const Scenario& s = *parts_[mesh].s;
  if (s.parallel.zero == 0 || (s.stack.zero_all_reduce && !parts_[mesh].fsdp)) {
    return add_dp(lane, mesh, CollectiveOp::AllReduce, bytes, data.all, {&after, 1});
  }
  TaskId last = after;
  if (data.shard.ranks > 1) {
    last = add_dp(lane, mesh, CollectiveOp::ReduceScatter, bytes, data.shard, {&last, 1});
  }
  if (final && data.replicas.ranks > 1) {
    last = add_dp(lane, mesh, CollectiveOp::AllReduce, bytes / data.shard.ranks, data.replicas,
                  {&last, 1});
  }
  return last;
}

/// Dense ones and those of experts have communicators of their own, but share wires: one follows
/// the other.
TaskId StepBuilder::reduce_gradients(int lane, std::size_t mesh, const DataBytes& bytes,
                                     TaskId after, bool final) {
  const CostContext& c = context(lane, mesh);
  const TaskId dense = reduce_over(lane, mesh, bytes.dense, c.data, after, final);
  return reduce_over(lane, mesh, bytes.experts, c.experts.data, dense, final);
}

TaskId StepBuilder::gather_parameters(int lane, std::size_t mesh, const DataBytes& bytes,
                                      TaskId after) {
  const CostContext& c = context(lane, mesh);
  TaskId last = after;
  bool any = false;
  const auto over = [&](double size, const models::CollectiveGroup& group) {
    if (size <= 0 || group.ranks <= 1) return;
    last = add_dp(lane, mesh, CollectiveOp::AllGather, size, group, sim::after(last));
    any = true;
  };
  over(bytes.dense, c.data.shard);
  over(bytes.experts, c.experts.data.shard);
  return any ? last : kNoTask;
}

TaskId StepBuilder::join(std::size_t lane, std::span<const TaskId> tasks) {
  Task join;
  join.lane = static_cast<std::uint32_t>(lane);
  join.stream = Stream::None;
  join.kind = TaskKind::Join;
  if (join_segment_ == 0) join_segment_ = timed_segment("all of them", Part::Bubble, 0);
  join.segment = join_segment_;
  return graph_.add(join, tasks);
}

TaskId StepBuilder::lane_end(std::size_t lane) {
  if (!ready_) return last_compute_[lane];
  const TaskId end = join(lane, lane_tasks_[lane]);
  lane_tasks_[lane] = {end};
  return end;
}

/// Copies of a module on several lanes reduce together: when the last of them is done.
void StepBuilder::sync_gradients(int lane, std::size_t mesh) {
  const MeshPart& part = parts_[mesh];
  if (!part.data_parallel || part.s->costs || part.fsdp || part.bucketed ||
      part.s->parallel.zero == 2 || part.s->frozen)
    return;
  const auto l = static_cast<std::size_t>(lane);
  const DataBytes bytes =
      sum_stages(l, mesh, [](const StageWork& work) { return work.reduce_bytes; });
  TaskId made = lane_end(l);
  if (part.copies > 1) {
    std::vector<TaskId> all;
    for (const int rank : part.lanes) all.push_back(lane_end(static_cast<std::size_t>(rank)));
    made = join(l, all);
  }
  last_dp_[l] = reduce_gradients(lane, mesh, bytes, made, true);
}

/// An all-reduce of two pipeline ranks, the slower way round.
models::CollectiveChoice StepBuilder::pair_time(int first, int second, double bytes) const {
  const auto over = [&](int from, int to) {
    return models::collective_time(CollectiveOp::AllReduce, base::Bytes(bytes),
                                   models::slowest_pair(plan_, s_, device_of(from), device_of(to)),
                                   models::nccl_release(s_.stack.nccl));
  };
  const auto choice = over(first, second);
  if (!models::places_differ(s_)) return choice;
  const auto back = over(second, first);
  return back.time > choice.time ? back : choice;
}

/// Two pipeline ranks add what they hold of the same gradients.
void StepBuilder::join_pair(std::array<int, 2> ranks, const char* name, double bytes) {
  const auto choice = pair_time(ranks[0], ranks[1], bytes);
  PassCost cost;
  cost.seconds = choice.time.value;
  cost.parts[static_cast<std::size_t>(Part::ExposedDp)] = cost.seconds;
  cost.bytes[static_cast<std::size_t>(Stream::Dp)] = bytes;
  const std::uint16_t segment = add_segment(graph_, name, cost);
  for (int replica = 0; replica < replicas_; ++replica) {
    std::vector<TaskId> deps;
    for (const int rank : ranks) {
      const auto l = static_cast<std::size_t>(lane_of(replica, rank));
      deps.push_back(ready_ || last_dp_[l] == kNoTask ? lane_end(l) : last_dp_[l]);
    }
    for (std::size_t end = 0; end < 2; ++end) {
      const int lane = lane_of(replica, ranks[end]);
      Task task;
      task.lane = static_cast<std::uint32_t>(lane);
      task.kind = TaskKind::Collective;
      task.stream = Stream::Dp;
      task.segment = segment;
      task.seconds = cost.seconds;
      const TaskId id = add(task, deps);
      last_dp_[static_cast<std::size_t>(lane)] = id;
      if (!network_) continue;
      NetworkTask note{id, CollectiveOp::AllReduce, choice.algorithm, bytes};
      note.fluid = (choice.time - choice.latency).value;
      note.from = device_of(ranks[end]);
      note.to = device_of(ranks[1 - end]);
      network_tasks_.push_back(note);
    }
  }
}

/// The ranks of the first and the last stage of a module both hold a tied embedding.
void StepBuilder::join_tied_embeddings() {
  for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh) {
    const models::Scenario& s = *parts_[mesh].s;
    std::size_t begin = 0, end = plan_.stages.size();
    while (begin < end && mesh_of_stage(static_cast<int>(begin)) != mesh) ++begin;
    while (end > begin && mesh_of_stage(static_cast<int>(end) - 1) != mesh) --end;
    if (!s.model.tied || s.parallel.pp == 1 || s.costs || s.frozen || shared_vocabulary_) continue;
    const int first = placement_.ranks[begin].front(), last = placement_.ranks[end - 1].back();
    if (first == last) continue;
    const double bytes = static_cast<double>(s.model.vocab * s.model.hidden) / s.parallel.tp *
                         models::element_bytes(s.stack.gradient_reduce);
    join_pair({first, last}, "all_reduce embedding", bytes);
  }
}

/// Stages of bidirectional schedules: each rank has the gradients of its own microbatches.
void StepBuilder::join_copies() {
  if (s_.costs) return;
  for (std::size_t stage = 0; stage < placement_.ranks.size(); ++stage) {
    const std::vector<int>& ranks = placement_.ranks[stage];
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      join_pair({ranks[0], ranks[i]}, "all_reduce copies",
                held(ranks[0], static_cast<int>(stage)).reduce_bytes.sum());
    }
  }
}

/// The optimizer step over a rank's shard of so many parameters.
Task StepBuilder::optimizer_task(int lane, std::size_t mesh, const RankParameters& held) {
  const models::Scenario& s = *parts_[mesh].s;
  Task task;
  task.lane = static_cast<std::uint32_t>(lane);
  task.kind = TaskKind::Optimizer;
  task.segment =
      timed_segment("optimizer", Part::Optimizer, optimizer_seconds(context(lane, mesh), held));
  if (kernels_) {
    models::Op op;
    op.name = "optimizer";
    op.kernel = s.optimizer.name == "sgd" ? "sgd" : "adamw";
    op.m = updated_parameters(s, held);
    note_kernel(task.segment, std::make_shared<const models::Op>(op));
  }
  task.seconds = graph_.segments[task.segment].seconds;
  return task;
}

TaskId StepBuilder::add_optimizer(int lane, std::size_t mesh, TaskId before) {
  const auto l = static_cast<std::size_t>(lane);
  const MeshPart& part = parts_[mesh];
  if (part.s->frozen) return before;
  const RankParameters held =
      sum_stages(l, mesh, [](const StageWork& work) { return work.parameters; });
  std::vector<TaskId> needs;
  if (ready_) needs.push_back(lane_end(l));
  if (last_dp_[l] != kNoTask) needs.push_back(last_dp_[l]);
  TaskId last = kNoTask;
  if (offloads(mesh)) {
    TaskId gradients = last_gradient_copy_[l];
    if (gradients == kNoTask)
      gradients = copy_gradients(lane, mesh, held, needs.empty() ? lane_end(l) : needs.back());
    last = add_host_optimizer(lane, mesh, held, gradients);
  } else {
    last = add(optimizer_task(lane, mesh, held), needs);
  }
  const bool gathers = part.s->parallel.zero >= 1 && part.data_parallel && !part.s->costs &&
                       !part.fsdp && !part.bucketed;
  if (!gathers) return last;
  const DataBytes bytes =
      sum_stages(l, mesh, [](const StageWork& work) { return work.gather_bytes; });
  const TaskId gathered = gather_parameters(lane, mesh, bytes, last);
  return gathered == kNoTask ? last : gathered;
}

void StepBuilder::add_optimizer(int lane) {
  TaskId last = kNoTask;
  for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh)
    if (rank_context_[static_cast<std::size_t>(rank_of(lane))][mesh] != nullptr)
      last = add_optimizer(lane, mesh, last);
  add_step_overhead(lane, last);
}

void StepBuilder::add_step_overhead(int lane, TaskId after) {
  if (s_.stack.step_overhead.value <= 0) return;
  Task task;
  task.lane = static_cast<std::uint32_t>(lane);
  task.kind = TaskKind::Host;
  task.stream = Stream::Host;
  task.segment = timed_segment("step overhead", Part::Host, s_.stack.step_overhead.value);
  task.seconds = s_.stack.step_overhead.value;
  add(task, sim::after(after));
}

void StepBuilder::finish_step() {
  const int lanes = static_cast<int>(graph_.lanes.size());
  if (updates_ || pooled_) {
    copy_updates_.join(graph_);
    for (int lane = 0; lane < lanes; ++lane)
      add_step_overhead(lane, lane_end(static_cast<std::size_t>(lane)));
    return;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh)
      if (rank_context_[static_cast<std::size_t>(rank_of(lane))][mesh] != nullptr)
        sync_gradients(lane, mesh);
  }
  join_tied_embeddings();
  join_copies();
  for (int lane = 0; lane < lanes; ++lane) add_optimizer(lane);
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/builder.hpp"

#include <algorithm>

#include "sim/lower/hop.hpp"
#include "sim/lower/pair_cost.hpp"
#include "sim/staleness.hpp"

namespace paceline::sim {

using models::CollectiveOp;
using models::DpOverlap;
using models::Plan;
using models::Scenario;

StepBuilder::StepBuilder(const Scenario& scenario, const Plan& plan, const Program& program,
                         const LowerOptions& options)
    : s_(scenario), plan_(plan), placement_(placement_of(program)) {
  const models::DataRanks ranks = models::data_ranks(s_);
  data_parallel_ = ranks.dense > 1 || ranks.experts > 1;
  fsdp_ = s_.parallel.zero >= 3 && data_parallel_;
  bucketed_ = s_.stack.dp_overlap == DpOverlap::Bucketed ||
              (s_.stack.dp_overlap == DpOverlap::BucketedWithoutPipeline && s_.parallel.pp == 1);
  replicas_ = options.unfold ? static_cast<int>(plan.members_per_lane) : 1;
  ready_ = s_.schedule.dispatch.policy == models::Dispatch::Ready;
  if (ready_ && fsdp_ && !s_.costs) {
    throw base::Error(models::where(s_, "schedule.dispatch"),
                      "ready dispatch does not go with zero: 3: replicas that choose different "
                      "actions would wait for each other's parameters",
                      "zero 0 to 2, or dispatch: fixed");
  }
  const bool copies =
      std::any_of(program.passes.begin(), program.passes.end(),
                  [](const Pass& pass) { return beside_compute(side_of(pass.name)); });
  if (ready_ && copies) {
    throw base::Error(models::where(s_, "schedule.dispatch"),
                      "ready dispatch does not go with activations that are offloaded: when they "
                      "come back depends on the order",
                      "dispatch: fixed");
  }
  kernels_ = options.kernels;
  network_ = kernels_ || (options.network && !s_.costs);
  chunks_ = network_ && options.chunks && !options.unfold && !kernels_;
  if (s_.moe.overlap && (network_ || ready_)) {
    throw base::Error(models::where(s_, "moe.overlap"),
                      std::string("1f1b does not go with ") +
                          (ready_ ? "ready dispatch" : "an engine that shares links"),
                      ready_ ? "dispatch: fixed" : "--engine reference, or overlap: none");
  }
  axes_ = models::data_axes(plan_, s_);
  expert_axes_ = models::expert_axes(plan_);
  make_contexts(options.inner || network_);
  inner_ = kernels_ || (network_ && shares_inner());
  for (const models::MeshAxis& axis : plan_.meshes.front().axes) {
    if (axis.name == "tp") tp_axes_.push_back({axis.stride, axis.size});
    if (axis.name != "cp") continue;
    const int inner = std::max(1, s_.parallel.context.inner);
    cp_axes_.push_back({axis.stride, axis.size});
    cp_inner_axes_.push_back({axis.stride, inner});
    cp_outer_axes_.push_back({std::int64_t{axis.stride} * inner, axis.size / inner});
  }
  make_work(program);
  make_lanes(program);
}

int StepBuilder::lane_of(int replica, int pipeline_rank) const {
  return replica * s_.parallel.pp + pipeline_rank;
}

void StepBuilder::make_contexts(bool keep_inner) {
  const int stride = plan_.meshes.front().axis("pp").stride;
  for (int r = 0; r < s_.parallel.pp; ++r) {
    // Ranks on the same kind of node with the same placement share a context.
    if (r > 0 && !models::places_differ(s_)) {
      rank_context_.push_back(rank_context_.front());
      continue;
    }
    contexts_.push_back(std::make_unique<CostContext>(cost_context(s_, plan_, r * stride)));
    contexts_.back()->pairs = s_.moe.overlap;
    contexts_.back()->keep_inner = keep_inner || s_.moe.overlap;
    contexts_.back()->each_kernel = kernels_;
    rank_context_.push_back(contexts_.back().get());
  }
}

void StepBuilder::make_work(const Program& program) {
  make_vocabulary(program);
  pooled_ = program.pooled;
  copy_updates_ = CopyUpdates(static_cast<std::size_t>(program.stages * replicas_));
  WorkNeeds needs = work_needs(program, s_.batch.sequence);
  slices_ = needs.slices;
  for (const Pass& pass : program.passes) {
    const std::optional<Role> role = role_of(pass.name);
    roles_.push_back(role.value_or(Role::Forward));
    sides_.push_back(side_of(pass.name));
    updates_ = updates_ || sides_.back() == SidePass::Update;
    const bool timed = sides_.back() != SidePass::Foreign || s_.foreign.pieces > 0;
    if (role || (sides_.back() != SidePass::None && timed)) continue;
    throw base::Error("schedule", "pass " + pass.name + " has no cost",
                      timed
                          ? "costs are known of F, B, W, BW, R, FE, FF, BF, BE, U, N, O, L, S and T"
                          : "foreign of the scenario says what X takes");
  }
  std::vector<HeldStage> held;
  for (std::size_t r = 0; r < placement_.stages.size(); ++r) {
    first_held_.push_back(held.size());
    for (const int stage : placement_.stages[r]) held.push_back({stage, rank_context_[r]});
  }
  first_held_.push_back(held.size());
  work_ = cost_stages(graph_, plan_, held, needs);
  if (shared_vocabulary_) {
    const StageWork share = vocabulary_share();
    for (std::size_t r = placement_.stages.size(); r-- > 0;) {
      const auto end = static_cast<std::ptrdiff_t>(first_held_[r + 1]);
      work_.insert(work_.begin() + end, share);
    }
    for (std::size_t r = 0; r < first_held_.size(); ++r) first_held_[r] += r;
  }
  hops_.resize(placement_.stages.size());
}

const StageWork& StepBuilder::held(int rank, int stage) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::vector<int>& stages = placement_.stages[r];
  const auto at = std::lower_bound(stages.begin(), stages.end(), stage);
  return work_[first_held_[r] + static_cast<std::size_t>(at - stages.begin())];
}

/// A task of the action that takes its segment's time.
Task StepBuilder::task_of(const ActionContext& action, TaskKind kind, Stream stream,
                          std::uint16_t segment) const {
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  task.kind = kind;
  task.stream = stream;
  task.segment = segment;
  task.seconds = graph_.segments[segment].seconds;
  return task;
}

const StepBuilder::Hop& StepBuilder::hop(int sender, const ActionContext& action, int receiver) {
  std::vector<Hop>& known = hops_[static_cast<std::size_t>(sender)];
  const bool up = action.direction == Direction::Up;
  const Direction direction = up ? Direction::Up : Direction::Down;
  // Without rules that tell layers apart all boundaries between two ranks are alike.
  const int lower = action.action.stage - (up ? 1 : 0);
  const std::int64_t layer =
      models::rules_by_layer(s_.compression, "pp") ? layer_below(plan_, lower) : models::kNoLayer;
  for (const Hop& hop : known) {
    if (hop.receiver == receiver && hop.direction == direction &&
        hop.slice == action.action.slice && hop.layer == layer)
      return hop;
  }
  const int stride = plan_.meshes.front().axis("pp").stride;
  // Both ways are priced from the upper stage, and as one where places do not differ.
  const int above = up ? receiver : sender, below = up ? sender : receiver;
  const bool turned = up && !models::places_differ(s_);
  const models::CollectiveGroup pair =
      models::slowest_pair(plan_, s_, (up && !turned ? below : above) * stride,
                           (up && !turned ? above : below) * stride);
  const HopTime time =
      hop_time(*rank_context_[static_cast<std::size_t>(above)], plan_, pair,
               slices_[static_cast<std::size_t>(action.action.slice)].share(), layer);
  Hop hop{receiver, direction, action.action.slice, time.size, time.seconds, time.fluid, 0, layer};
  hop.segment = hop_segment(hop);
  known.push_back(hop);
  return known.back();
}

std::uint16_t StepBuilder::hop_segment(const Hop& hop) {
  for (const Hop& twin : distinct_hops_) {
    if (twin.direction == hop.direction && twin.alone == hop.alone && twin.size == hop.size)
      return twin.segment;
  }
  const bool down = hop.direction == Direction::Down;
  PassCost cost;
  cost.seconds = hop.alone;
  cost.parts[static_cast<std::size_t>(Part::ExposedPp)] = hop.alone;
  cost.bytes[static_cast<std::size_t>(down ? Stream::PpDown : Stream::PpUp)] = hop.size;
  distinct_hops_.push_back(hop);
  distinct_hops_.back().segment =
      add_segment(graph_, down ? "send activations" : "send gradients", cost);
  return distinct_hops_.back().segment;
}

void StepBuilder::make_lanes(const Program& program) {
  const int pp = s_.parallel.pp;
  const int stride = plan_.meshes.front().axis("pp").stride;
  graph_.lanes.resize(static_cast<std::size_t>(pp * replicas_));
  for (int replica = 0; replica < replicas_; ++replica) {
    for (int r = 0; r < pp; ++r) {
      Lane& lane = graph_.lanes[static_cast<std::size_t>(lane_of(replica, r))];
      lane.representative = models::replica_offset(plan_.meshes.front(), replica) + r * stride;
      lane.members = plan_.members_per_lane / replicas_;
    }
  }
  for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane) {
    const auto sum = [&](double models::StageMemory::*part) {
      return sum_stages(lane, [&](const StageWork& work) { return work.memory.*part; });
    };
    graph_.lanes[lane].resident = {{MemoryPart::Parameters, sum(&models::StageMemory::parameters)},
                                   {MemoryPart::Gradients, sum(&models::StageMemory::gradients)},
                                   {MemoryPart::Optimizer, sum(&models::StageMemory::optimizer)},
                                   {MemoryPart::Runtime, s_.stack.runtime_memory.value}};
  }
  hold_versions(program);
  hold_codec_state();
  if (pooled_) hold_pool();
  last_compute_.assign(graph_.lanes.size(), kNoTask);
  compute_before_.assign(graph_.lanes.size(), kNoTask);
  last_dp_.assign(graph_.lanes.size(), kNoTask);
  lane_tasks_.resize(graph_.lanes.size());
  std::size_t actions = 0;
  for (const auto& order : program.order) actions += order.size();
  graph_.tasks.reserve(actions * 2);
  graph_.first_dep.reserve(actions * 2 + 1);
  graph_.deps.reserve(actions * 2);
}

/// Older weights that microbatches on their way still need.
void StepBuilder::hold_versions(const Program& program) {
  if (!updates_ || program.weights == Weights::Latest) return;
  const std::vector<int> versions = staleness(program).versions;
  for (std::size_t l = 0; l < graph_.lanes.size(); ++l) {
    const int more = versions[static_cast<std::size_t>(rank_of(static_cast<int>(l)))] - 1;
    const double weights =
        sum_stages(l, [](const StageWork& work) { return work.memory.parameters; });
    if (more > 0) graph_.lanes[l].resident.push_back({MemoryPart::WeightVersions, more * weights});
  }
}

TaskId StepBuilder::add(Task task, std::span<const TaskId> deps) {
  const TaskId id = graph_.add(task, deps);
  if (ready_) lane_tasks_[task.lane].push_back(id);
  if (task.stream == Stream::Compute) {
    compute_before_[task.lane] = last_compute_[task.lane];
    last_compute_[task.lane] = id;
  }
  return id;
}

std::uint16_t StepBuilder::timed_segment(const char* name, Part part, double seconds) {
  const auto [found, fresh] = timed_segments_.try_emplace({name, seconds}, std::uint16_t{0});
  if (!fresh) return found->second;
  PassCost cost;
  cost.seconds = seconds;
  cost.parts[static_cast<std::size_t>(part)] = seconds;
  found->second = add_segment(graph_, name, cost);
  return found->second;
}

bool StepBuilder::expands(const ActionContext& action) const {
  return inner_ || expands_for_data(action);
}

bool StepBuilder::expands_for_data(const ActionContext& action) const {
  if (s_.costs || !data_parallel_) return false;
  if (fsdp_) return true;
  const Role r = role(action);
  // Only shards of the gradients stay: every microbatch reduces its own.
  if (s_.parallel.zero == 2 && gives_gradients(r)) return true;
  if (!bucketed_) return false;
  if (r == Role::Forward) return action.first && s_.parallel.zero >= 1;
  return gives_gradients(r) && action.last;
}

bool StepBuilder::ends_count() const {
  return !s_.costs && data_parallel_ && (bucketed_ || s_.parallel.zero == 2);
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
      pair_cost(*work1.whole[role1], *work2.whole[role2], context(action.lane).overlap_slowdown);
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
  const bool gathers = for_data && (fsdp_ ? needs_weights(r) && action.opens : r == Role::Forward);
  const bool reduces = for_data && gives_gradients(r) && (!fsdp_ || action.closes);
  Task task;
  task.lane = static_cast<std::uint32_t>(action.lane);
  task.origin = action.position;
  // Gathers follow what stands before the mark that waits for the inputs.
  if (fsdp_ && for_data && action.opens && !action.closes) keep_whole(action, task);
  task.segment = marks.open;
  add(task, action.inputs);
  task.kind = TaskKind::Kernel;
  if (for_data) task.slowdown = static_cast<float>(context(action.lane).overlap_slowdown);
  const std::size_t count = work.parts.size();
  const auto part_at = [&](std::size_t i) -> const PassPart& {
    return work.parts[forward ? i : count - 1 - i];
  };
  const auto gather = [&](std::size_t i) {
    if (!gathers || i >= count || part_at(i).gather_bytes.sum() <= 0) return kNoTask;
    // No telling what will run before: gathers of ready dispatch begin with the step.
    const TaskId window = ready_ ? kNoTask : compute_before_[task.lane];
    return gather_parameters(action.lane, part_at(i).gather_bytes, window);
  };
  TaskId gathered = gather(0);
  for (std::size_t i = 0; i < count; ++i) {
    const TaskId next = gather(i + 1);
    const PassPart& part = part_at(i);
    const TaskId done = add_part(task, part, r, gathered);
    gathered = next;
    if (reduces && part.reduce_bytes.sum() > 0) {
      last_dp_[task.lane] = reduce_gradients(action.lane, part.reduce_bytes, done, action.last);
    }
  }
  task.slowdown = 1;
  task.seconds = 0;
  if (fsdp_ && for_data && action.closes && !action.opens) keep_whole(action, task);
  task.kind = TaskKind::Action;
  task.segment = marks.close;
  return add(task, {});
}

TaskId StepBuilder::add_message(const ActionContext& action, TaskId done, int receiver) {
  const Hop way = hop(rank_of(action.lane), action, receiver);
  const Stream stream = s_.stack.p2p_blocking              ? Stream::Compute
                        : way.direction == Direction::Down ? Stream::PpDown
                                                           : Stream::PpUp;
  const TaskId id = add(task_of(action, TaskKind::Message, stream, way.segment), {&done, 1});
  if (ready_) {
    const auto stages = static_cast<std::uint32_t>(plan_.stages.size());
    graph_.cross(id, action.action.pass * stages + static_cast<std::uint32_t>(action.action.stage));
  }
  note_message(id, action.lane, way);
  return id;
}

}  // namespace paceline::sim

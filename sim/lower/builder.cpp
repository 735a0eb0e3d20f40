// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/builder.hpp"

#include <algorithm>

#include "sim/lower/hop.hpp"
#include "sim/lower/optimizer_cost.hpp"
#include "sim/staleness.hpp"

namespace paceline::sim {
namespace {

bool goes_back(const Program& program, int stage) {
  return program.nodes.empty() || program.nodes[static_cast<std::size_t>(stage)].backward;
}

}  // namespace

using models::Plan;
using models::Scenario;

StepBuilder::StepBuilder(const Scenario& scenario, const Plan& plan, const Program& program,
                         const LowerOptions& options)
    : s_(scenario), plan_(plan), placement_(placement_of(program)) {
  make_parts(program);
  replicas_ = options.unfold ? static_cast<int>(plan.members_per_lane) : 1;
  if (!program.nodes.empty() && (options.unfold || options.network || options.kernels)) {
    throw base::Error(
        models::where(s_, "model"),
        "stages that are no chain (modules, skip connections) are timed by rank class "
        "and with every transfer alone",
        "--engine reference, without jitter; execute runs plain models");
  }
  if (plan.meshes.front().first_rank > 0 && (options.network || options.kernels)) {
    throw base::Error(
        models::where(s_, "model"),
        "ranks that do not begin with the cluster are timed with every transfer alone",
        "--engine reference, or first_rank: 0");
  }
  if (options.kernels && s_.parallel.ep * s_.parallel.etp > 1) {
    throw base::Error(models::where(s_, "parallel.ep"),
                      "experts over several ranks are not executed: their exchanges have no form "
                      "that runs",
                      "ep: 1 and etp: 1");
  }
  ready_ = s_.schedule.dispatch.policy == models::Dispatch::Ready;
  if (ready_ && parts_.front().fsdp && !s_.costs) {
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
  expert_axes_ = models::expert_axes(*parts_.front().plan);
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
  return replica * pipeline_ranks() + pipeline_rank;
}

void StepBuilder::make_parts(const Program& program) {
  for (std::size_t mesh = 0; mesh < std::max<std::size_t>(1, plan_.modules.size()); ++mesh) {
    MeshPart part;
    part.s = plan_.modules.empty() ? &s_ : s_.modules[mesh].view.get();
    part.plan = plan_.modules.empty() ? &plan_ : &plan_.modules[mesh];
    const models::Scenario& s = *part.s;
    const models::DataRanks ranks = models::data_ranks(s);
    part.data_parallel = ranks.dense > 1 || ranks.experts > 1;
    part.fsdp = s.parallel.zero >= 3 && part.data_parallel;
    part.bucketed = buckets_gradients(s);
    parts_.push_back(part);
  }
  for (int rank = 0; rank < static_cast<int>(placement_.stages.size()); ++rank) {
    for (const int stage : placement_.stages[static_cast<std::size_t>(rank)]) {
      MeshPart& part = parts_[mesh_of_stage(stage)];
      if (part.lanes.empty() || part.lanes.back() != rank) part.lanes.push_back(rank);
    }
  }
  if (program.nodes.empty()) return;
  for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh) {
    MeshPart& part = parts_[mesh];
    if (mesh >= s_.modules.size() || s_.modules[mesh].host < 0) continue;
    part.copies = static_cast<int>(part.lanes.size());
    if (part.copies > 1) part.bucketed = false;  // the copies reduce together, at the end
  }
}

void StepBuilder::make_contexts(bool keep_inner) {
  rank_context_.assign(plan_.pipeline.size(),
                       std::vector<const CostContext*>(parts_.size(), nullptr));
  for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh) {
    const CostContext* first = nullptr;
    for (const int rank : parts_[mesh].lanes) {
      const CostContext*& context = rank_context_[static_cast<std::size_t>(rank)][mesh];
      // Ranks on the same kind of node with the same placement share a context.
      context = first;
      if (first != nullptr && !models::places_differ(s_)) continue;
      contexts_.push_back(std::make_unique<CostContext>(
          cost_context(*parts_[mesh].s, *parts_[mesh].plan, device_of(rank))));
      contexts_.back()->pairs = s_.moe.overlap;
      contexts_.back()->keep_inner = keep_inner || s_.moe.overlap;
      contexts_.back()->each_kernel = kernels_;
      context = contexts_.back().get();
      if (first == nullptr) first = context;
    }
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
  for (const MeshPart& part : parts_)
    if (updates_ && part.s->optimizer.offload.host())
      throw base::Error(models::where(s_, "optimizer"),
                        "an optimizer on the host ends the step: it does not go with updates in "
                        "the order of the schedule",
                        "device: gpu, or a schedule that flushes with norm_barrier: true");
  std::vector<HeldStage> held;
  for (std::size_t r = 0; r < placement_.stages.size(); ++r) {
    first_held_.push_back(held.size());
    for (const int stage : placement_.stages[r])
      held.push_back({stage, rank_context_[r][mesh_of_stage(stage)], goes_back(program, stage)});
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
  const int lower = action.action.stage - (up ? 1 : 0);
  const double tensors = boundary_tensors(lower);
  // Without rules that tell layers apart all boundaries between two ranks are alike.
  const std::int64_t layer =
      models::rules_by_layer(s_.compression, "pp") ? layer_below(plan_, lower) : models::kNoLayer;
  for (const Hop& hop : known) {
    if (hop.receiver == receiver && hop.direction == direction &&
        hop.slice == action.action.slice && hop.tensors == tensors && hop.layer == layer)
      return hop;
  }
  // Both ways are priced from the upper stage, and as one where places do not differ.
  const int above = up ? receiver : sender, below = up ? sender : receiver;
  const bool turned = up && !models::places_differ(s_);
  const MeshPart& part = part_of(action);
  const models::CollectiveGroup pair =
      models::slowest_pair(*part.plan, *part.s, device_of(up && !turned ? below : above),
                           device_of(up && !turned ? above : below));
  const HopTime time =
      hop_time(context(above, mesh_of_stage(action.action.stage)), *part.plan, pair,
               slices_[static_cast<std::size_t>(action.action.slice)].share() * tensors, layer);
  Hop hop{receiver, direction, action.action.slice, time.size, time.seconds, time.fluid, 0};
  hop.tensors = tensors;
  hop.layer = layer;
  if (s_.costs) hop.alone *= tensors;
  hop.segment = hop_segment(hop);
  known.push_back(hop);
  return known.back();
}

/// Tensors of a layer's width that cross the boundary above a stage: its output, and the skip
/// connections whose two ends do not share a rank. Where mirrored stages do, none passes on.
double StepBuilder::boundary_tensors(int stage) const {
  const auto stages = static_cast<int>(plan_.stages.size());
  const auto joins = [](const models::Layer& layer) { return layer.joins_skip; };
  if (std::none_of(s_.model.kinds.begin(), s_.model.kinds.end(), joins) || !s_.modules.empty() ||
      stage < 0)
    return 1;
  if (std::equal(placement_.ranks.begin(), placement_.ranks.end(), placement_.ranks.rbegin()) &&
      stages > 1)
    return 1;
  const models::Stage& below = plan_.stages[static_cast<std::size_t>(stage)];
  return 1 + static_cast<double>(models::skips_over(s_.model, below.first_layer + below.layers));
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
  const int ranks = pipeline_ranks();
  graph_.lanes.resize(static_cast<std::size_t>(ranks * replicas_));
  for (int replica = 0; replica < replicas_; ++replica) {
    for (int r = 0; r < ranks; ++r) {
      Lane& lane = graph_.lanes[static_cast<std::size_t>(lane_of(replica, r))];
      lane.representative = models::replica_offset(plan_.meshes.front(), replica) + device_of(r);
      lane.members = plan_.pipeline[static_cast<std::size_t>(r)].members / replicas_;
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
  hold_host();
  hold_boundaries();
  last_gradient_copy_.assign(graph_.lanes.size(), kNoTask);
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

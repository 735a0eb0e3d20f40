// SPDX-License-Identifier: Apache-2.0
#include "sim/search/bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "models/cost/collective.hpp"
#include "sim/lower/optimizer_cost.hpp"
#include "sim/offload.hpp"
#include "sim/predict.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim {
namespace {

using models::CollectiveOp;
using models::Plan;
using models::Scenario;

bool only_plain_passes(const Program& program) {
  return std::all_of(program.passes.begin(), program.passes.end(), [](const Pass& pass) {
    constexpr std::array<std::string_view, 6> kKnown{"F", "B", "W", "BW", "O", "L"};
    return std::find(kKnown.begin(), kKnown.end(), pass.name) != kKnown.end();
  });
}

/// What a rank does with activations: where most of them are stored (after F, until the backward,
/// or its first half, ends), and which leave.
struct Stored {
  std::vector<int> most, moved;  ///< by held stage
};
Stored stored_of(const Program& program, const std::vector<Action>& order,
                 const std::vector<int>& held) {
  Stored out{std::vector<int>(held.size(), 0), std::vector<int>(held.size(), 0)};
  std::vector<int> now = out.most;
  int count = 0, highest = 0;
  std::set<std::pair<int, int>> leaves;  // stage, microbatch
  for (const Action& action : order)
    if (program.passes[action.pass].name == "O") leaves.emplace(action.stage, action.microbatch);
  for (const Action& action : order) {
    const auto stage = static_cast<std::size_t>(
        std::lower_bound(held.begin(), held.end(), action.stage) - held.begin());
    const std::string& pass = program.passes[action.pass].name;
    const bool leaving = !leaves.empty() && leaves.contains({action.stage, action.microbatch});
    if (pass == "O") ++out.moved[stage];
    if (leaving || pass == "W") continue;
    now[stage] += pass == "F" ? 1 : -1;
    count += pass == "F" ? 1 : -1;
    if (count <= highest) continue;
    highest = count;
    out.most = now;
  }
  return out;
}

int recomputed(const Scenario& s, const models::Stage& stage) {
  if (s.recompute == models::Recompute::Full) return stage.layers;
  return s.recompute == models::Recompute::Blockwise ? std::min(s.recompute_layers, stage.layers)
                                                     : 0;
}

/// Of a rank whose gradients or parameters are sharded: its collectives for each microbatch.
double data_seconds(const BoundParts& b, const std::vector<int>& held) {
  const Scenario& s = *b.context->scenario;
  double seconds = 0;
  for (const int index : held) {
    const models::Stage& stage = b.plan->stages[static_cast<std::size_t>(index)];
    for (int i = 0; i < stage.layers; ++i) seconds += (*b.data)[models::kind_at(s.model, stage, i)];
  }
  return seconds * (b.facts->shares_gathers ? 1 : b.plan->microbatches);
}

/// Activations of a rank that leave for the host, one after another.
double copy_seconds(const BoundParts& b, std::size_t rank) {
  const Scenario& s = *b.context->scenario;
  const std::vector<int>& held = b.facts->placement.stages[rank];
  double bytes = 0;
  for (std::size_t i = 0; i < held.size(); ++i)
    bytes += b.facts->moved[rank][i] * b.stages[static_cast<std::size_t>(held[i])]->activation;
  if (bytes <= 0) return 0;
  const auto& measured = s.profiles.front().to_host;
  const double own =
      measured ? measured->rate.value : s.cluster.groups.front().device.host_bandwidth.value;
  return bytes / (s.offload.bandwidth.value > 0 ? s.offload.bandwidth.value : own);
}

/// The processors of a node, for the subgroups that they update.
double host_optimizer_seconds(const Scenario& s, const Plan& plan, const RankParameters& held) {
  const models::OptimizerOffload& o = s.optimizer.offload;
  const double here = std::floor(o.subgroups * o.device_share);
  const double share = (o.subgroups - here) / o.subgroups;
  const double devices = std::min(s.cluster.groups.front().devices_per_node, plan.world_size);
  return updated_parameters(s, held) * share * devices / o.cpu_rate;
}

double collective_seconds(const CostContext& c, CollectiveOp op, double bytes,
                          const models::CollectiveGroup& group) {
  if (bytes <= 0 || group.ranks <= 1) return 0;
  return models::collective_time(op, base::Bytes(bytes), group, *c.nccl).time.value;
}

/// Collectives after the last pass: gradients where the stack reduces them at the end, parameters
/// of ZeRO. Compressed ones may take any time.
double exchange_seconds(const CostContext& c, const DataBytes& parameters) {
  const Scenario& s = *c.scenario;
  const models::DataRanks ranks = models::data_ranks(s);
  const bool parallel = ranks.dense > 1 || ranks.experts > 1;
  if (!parallel || buckets_gradients(s) || s.parallel.zero >= 2 || !s.compression.empty()) return 0;
  double seconds = 0;
  const auto add = [&](CollectiveOp op, double bytes, const models::CollectiveGroup& group) {
    seconds += collective_seconds(c, op, bytes, group);
  };
  const double gradient = models::element_bytes(s.stack.gradient_reduce);
  const double weight = models::state_bytes(s).weight;
  const bool sharded = s.parallel.zero == 1;
  const auto both = [&](double count, const models::DataGroups& groups) {
    const bool scatters = sharded && !s.stack.zero_all_reduce;
    add(scatters ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce, count * gradient,
        scatters ? groups.shard : groups.all);
    if (sharded) add(CollectiveOp::AllGather, count * weight, groups.shard);
  };
  both(parameters.dense, c.data);
  both(parameters.experts, c.experts.data);
  return seconds;
}

/// After the passes of a rank.
double end_seconds(const BoundParts& b, const std::vector<int>& held) {
  const Scenario& s = *b.context->scenario;
  RankParameters parameters;
  DataBytes layers;
  for (const int stage : held) {
    parameters += b.stages[static_cast<std::size_t>(stage)]->parameters;
    layers += b.stages[static_cast<std::size_t>(stage)]->layers;
  }
  const double optimizer = s.optimizer.offload.host()
                               ? host_optimizer_seconds(s, *b.plan, parameters)
                               : optimizer_seconds(*b.context, parameters);
  return exchange_seconds(*b.context, layers) + optimizer + s.stack.step_overhead.value;
}

/// A rank that computes for `work` seconds and does nothing for `idle` at least, while its
/// data-parallel collectives take `data`. What of them does not fit into the idle time slows
/// kernels down (sim/engine/overlap.hpp), where these are layers that parameters are gathered for.
double with_data(const BoundParts& b, double work, double idle, double data) {
  const double slowdown = b.context->overlap_slowdown;
  const bool feels = b.context->scenario->parallel.zero >= 3 && slowdown > 1;
  const double slowed = feels ? std::max(0.0, data - idle) * (1 - 1 / slowdown) : 0;
  return std::max(work + idle + slowed, data);
}

/// Stages on several ranks: the mean of the ranks, before the shortest end.
double mean_seconds(const BoundParts& b, double work, const std::vector<double>& ends) {
  const auto& ranks = b.facts->placement.stages;
  double data = 0;
  for (const std::vector<int>& held : ranks) data += data_seconds(b, held);
  const auto count = static_cast<double>(ranks.size());
  // A stage on two ranks was counted on each with all microbatches.
  double copies = 0;
  for (const std::vector<int>& held : ranks) copies += static_cast<double>(held.size());
  data *= static_cast<double>(b.plan->stages.size()) / copies;
  const double end = *std::min_element(ends.begin(), ends.end());
  return with_data(b, work / count, end, b.facts->shares_gathers ? 0 : data / count);
}

double step_seconds(const BoundParts& b, const std::vector<PassSeconds>& stages) {
  const OrderFacts& facts = *b.facts;
  const bool flushes = !repeats(*b.context->scenario);
  const double microbatches = b.plan->microbatches;
  // Forward and backward of one microbatch through the stages before a stage.
  std::vector<double> down{0}, up{0};
  double work = 0;
  for (const PassSeconds& stage : stages) {
    down.push_back(down.back() + stage.forward);
    up.push_back(up.back() + stage.backward);
    work += microbatches * stage.both(facts.split);
  }
  const auto& ranks = facts.placement.stages;
  std::vector<double> ends;
  for (const std::vector<int>& held : ranks) ends.push_back(flushes ? end_seconds(b, held) : 0);
  if (!facts.alone) return mean_seconds(b, work, ends);
  double longest = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    double seconds = 0;
    for (const int stage : ranks[r])
      seconds += microbatches * stages[static_cast<std::size_t>(stage)].both(facts.split);
    const auto first = static_cast<std::size_t>(ranks[r].front());
    double idle = flushes ? down[first] + ends[r] : 0;
    if (flushes && !facts.split && first > 0) {
      const auto last = static_cast<std::size_t>(facts.placement.ranks.front().front());
      idle = std::max(idle, down[first] + up[first] + ends[last]);
    }
    longest = std::max(
        {longest, with_data(b, seconds, idle, data_seconds(b, ranks[r])), copy_seconds(b, r)});
  }
  return longest;
}

}  // namespace

double least_bytes(const BoundParts& b) {
  double fullest = 0;
  for (std::size_t r = 0; r < b.facts->placement.stages.size(); ++r) {
    const std::vector<int>& held = b.facts->placement.stages[r];
    double bytes = b.context->scenario->stack.runtime_memory.value;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const StageFacts& stage = *b.stages[static_cast<std::size_t>(held[i])];
      bytes += stage.resident + b.facts->stored[r][i] * stage.activation;
    }
    fullest = std::max(fullest, bytes);
  }
  return fullest;
}

int facts_microbatches(const Scenario& s, int microbatches) {
  constexpr std::int64_t kFew = 8192;
  const int ranks = s.parallel.pp;
  if (std::int64_t{microbatches} * ranks * s.schedule.chunks <= kFew) return microbatches;
  // The same rest of two rounds: schedules ask for multiples of the ranks, or even numbers.
  return std::min(microbatches, 4 * ranks + microbatches % (2 * ranks));
}

OrderFacts order_facts(const Scenario& s, int microbatches, const StageTimes* times) {
  const Schedule& schedule = find_schedule(s.schedule.name, models::where(s, "schedule.name"));
  PipelineShape shape{s.parallel.pp, s.schedule.chunks, microbatches};
  shape.options = s.schedule.options;
  if (times != nullptr) shape.times = *times;
  Program program = schedule.build(shape);
  if (s.offload.share > 0) add_offload(program, s.offload.share);
  OrderFacts facts;
  if (!only_plain_passes(program) || program.skips || program.pooled || program.slices > 1)
    return facts;
  facts.known = true;
  facts.placement = placement_of(program);
  facts.split = std::any_of(program.passes.begin(), program.passes.end(),
                            [](const Pass& pass) { return pass.name == "W"; });
  facts.alone = std::all_of(facts.placement.ranks.begin(), facts.placement.ranks.end(),
                            [](const std::vector<int>& ranks) { return ranks.size() == 1; });
  facts.shares_gathers = program.gather_unit > 0;
  for (std::size_t r = 0; r < program.order.size(); ++r) {
    const std::vector<int>& held = facts.placement.stages[r];
    Stored stored = stored_of(program, program.order[r], held);
    if (schedule.uses_times && times == nullptr) stored.most.assign(held.size(), 0);
    facts.stored.push_back(std::move(stored.most));
    facts.moved.push_back(std::move(stored.moved));
  }
  return facts;
}

std::vector<double> layer_data_seconds(const CostContext& c) {
  const Scenario& s = *c.scenario;
  std::vector<double> seconds(s.model.kinds.size(), 0);
  if (s.parallel.zero < 2 || !s.compression.empty()) return seconds;
  const auto time = [&](CollectiveOp op, double bytes, const models::CollectiveGroup& group) {
    return collective_seconds(c, op, bytes, group);
  };
  const double gradient = models::element_bytes(s.stack.gradient_reduce);
  const double weight = models::state_bytes(s).weight;
  const bool scatters = s.parallel.zero >= 3 || !s.stack.zero_all_reduce;
  const auto of = [&](double count, const models::DataGroups& groups) {
    const double reduce = scatters
                              ? time(CollectiveOp::ReduceScatter, count * gradient, groups.shard)
                              : time(CollectiveOp::AllReduce, count * gradient, groups.all);
    // Before the forward and before the backward.
    const double gathers =
        s.parallel.zero < 3 ? 0 : 2 * time(CollectiveOp::AllGather, count * weight, groups.shard);
    return reduce + gathers;
  };
  for (std::size_t kind = 0; kind < seconds.size(); ++kind) {
    const models::HeldParameters held = models::held_parameters(
        s.model, s.model.kinds[kind], s.parallel.tp, s.parallel.ep * s.parallel.etp);
    seconds[kind] = of(held.dense, c.data) + of(held.experts, c.experts.data);
  }
  return seconds;
}

StageFacts stage_facts(const Scenario& s, const Plan& plan, const models::Stage& stage) {
  const models::StageMemory memory = models::stage_memory(s, plan, stage);
  StageFacts facts;
  const bool on_host = s.optimizer.offload.host();
  facts.resident = memory.parameters + memory.gradients + (on_host ? 0 : memory.optimizer);
  facts.activation = memory.activation;
  const models::HeldParameters held = models::held_parameters(s, stage);
  facts.parameters = {held.sum(), held.experts};
  for (int i = 0; i < stage.layers; ++i) {
    const models::HeldParameters layer =
        models::held_parameters(s.model, models::layer_at(s.model, stage, i), s.parallel.tp,
                                s.parallel.ep * s.parallel.etp);
    facts.layers += {layer.dense, layer.experts};
  }
  return facts;
}

Bound lower_bound(const BoundParts& b) {
  if (!b.facts->known) return {};
  const Scenario& s = *b.context->scenario;
  std::vector<PassSeconds> stages;
  stages.reserve(b.plan->stages.size());
  for (const models::Stage& stage : b.plan->stages)
    stages.push_back(
        stage_seconds(*b.costs, s.model, stage, recomputed(s, stage), s.schedule.chunks));
  return {step_seconds(b, stages), least_bytes(b)};
}

bool has_bounds(const Scenario& s) {
  return s.schedule.file.empty() && !s.costs && s.modules.empty() && !models::places_differ(s);
}

Bound lower_bound(const Scenario& s, const Plan& plan) {
  if (!has_bounds(s)) return {};
  const CostContext context = cost_context(s, plan, plan.pipeline.front().device);
  const LayerCosts costs = layer_costs(context);
  const OrderFacts facts = order_facts(s, facts_microbatches(s, plan.microbatches));
  const std::vector<double> data = layer_data_seconds(context);
  std::vector<StageFacts> stages;
  for (const models::Stage& stage : plan.stages) stages.push_back(stage_facts(s, plan, stage));
  BoundParts parts{&context, &plan, &costs, &facts, &data, {}};
  for (const StageFacts& stage : stages) parts.stages.push_back(&stage);
  return lower_bound(parts);
}

}  // namespace paceline::sim

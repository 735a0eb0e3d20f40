// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/stage_work.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using models::Scenario;
using models::Stage;

/// Extra time of every pass on a machine of many nodes: jitter and stragglers, a share per doubling
/// of the nodes in use.
void add_scale_loss(const CostContext& context, PassCost& cost) {
  const Scenario& s = *context.scenario;
  if (s.stack.scale_loss <= 0) return;
  const double extra = cost.seconds * (scale_loss_factor(s) - 1);
  add_tail(cost, Part::Straggler, extra);
}

std::shared_ptr<const std::vector<InnerTask>> share_inner(const PassCost& cost) {
  if (cost.inner.empty()) return nullptr;
  return std::make_shared<const std::vector<InnerTask>>(cost.inner);
}

constexpr ByRole<const char*> kRoleNames{"F", "BW", "B", "W", "R", "FF", "BF"};

template <class F>
void for_each_role(const WorkNeeds& needs, const F& f) {
  for (std::size_t r = 0; r < kRoles; ++r) {
    if (needs.roles[r]) f(static_cast<Role>(r), r);
  }
}

/// Costs by role, of a layer or an end or summed over a stage.
using Costs = ByRole<PassCost>;

PassPart make_part(TaskGraph& graph, const std::string& name, const Costs& costs,
                   const WorkNeeds& needs) {
  PassPart part;
  for_each_role(needs, [&](Role, std::size_t r) {
    part.segment[r] = add_segment(graph, name + " " + kRoleNames[r], costs[r]);
    part.inner[r] = share_inner(costs[r]);
  });
  return part;
}

/// Bytes a parameter that are reduced; frozen ones have no gradients.
double reduced_bytes(const Scenario& s) {
  return s.frozen ? 0 : models::element_bytes(s.stack.gradient_reduce);
}

RankParameters trained_parameters(const Scenario& s, const Stage& stage) {
  if (s.frozen) return {};
  return {models::stage_parameters(s, stage), models::held_parameters(s, stage).experts};
}

/// Layer costs of one context, by slice, kind and whether the layer is recomputed.
class LayerTable {
 public:
  LayerTable(const CostContext& context, TaskGraph& graph, const WorkNeeds& needs)
      : context_(&context), graph_(&graph), needs_(&needs) {
    entries_.resize(2 * context.scenario->model.kinds.size() * needs.slices.size());
  }
  struct Entry {
    bool ready = false;
    Costs cost;
    PassPart part;
  };
  const CostContext* context() const { return context_; }
  const Entry& get(std::size_t slice, std::size_t kind, bool recomputed) {
    const Scenario& s = *context_->scenario;
    Entry& entry = entries_[2 * (slice * s.model.kinds.size() + kind) + (recomputed ? 1 : 0)];
    if (entry.ready) return entry;
    const models::Layer& layer = s.model.kinds[kind];
    for_each_role(*needs_, [&](Role role, std::size_t r) {
      entry.cost[r] =
          layer_cost(*context_, layer, recomputed, work_role(role), needs_->slices[slice]);
      add_scale_loss(*context_, entry.cost[r]);
      if (context_->packs != nullptr) {
        const AttentionCore core{kind, work_role(role), recomputed};
        entry.cost[r].attention = {{static_cast<std::uint16_t>(core.id()), 1}};
      }
    });
    entry.part = make_part(*graph_, "layer", entry.cost, *needs_);
    const models::HeldParameters held =
        models::held_parameters(s.model, layer, s.parallel.tp, s.parallel.ep * s.parallel.etp);
    const double weight = models::state_bytes(s).weight, gradient = reduced_bytes(s);
    entry.part.gather_bytes = {held.dense * weight, held.experts * weight};
    entry.part.reduce_bytes = {held.dense * gradient, held.experts * gradient};
    entry.ready = true;
    return entry;
  }

 private:
  const CostContext* context_;
  TaskGraph* graph_;
  const WorkNeeds* needs_;
  std::vector<Entry> entries_;
};

void add_end(TaskGraph& graph, const CostContext& context, const WorkNeeds& needs,
             const Slice& slice, SliceWork& work, Costs& sum, bool head) {
  const Scenario& s = *context.scenario;
  Costs costs;
  for_each_role(needs, [&](Role role, std::size_t r) {
    costs[r] = end_cost(context, head, work_role(role), slice);
    add_scale_loss(context, costs[r]);
    sum[r] += costs[r];
  });
  const double parameters = static_cast<double>(head ? s.model.vocab * s.model.hidden
                                                     : models::embedding_parameters(s.model)) /
                            s.parallel.tp;
  const bool own = !(head && s.model.tied && s.parallel.pp == 1);  // tied on one rank: one matrix
  PassPart part = make_part(graph, head ? "head" : "embedding", costs, needs);
  part.gather_bytes.dense = own ? parameters * models::state_bytes(s).weight : 0;
  part.reduce_bytes.dense = own ? parameters * reduced_bytes(s) : 0;
  work.parts.push_back(std::move(part));
}

/// What the host holds a device up for once a microbatch, on its way forward: the stages of a rank
/// share it.
void add_microbatch_host(TaskGraph& graph, const Scenario& s, const WorkNeeds& needs,
                         const Slice& slice, SliceWork& work, Costs& sum) {
  if (s.stack.microbatch_host.value <= 0) return;
  Costs costs;
  add_tail(costs[index_of(Role::Forward)], Part::Host,
           s.stack.microbatch_host.value / s.schedule.chunks * slice.share());
  for_each_role(needs, [&](Role, std::size_t r) { sum[r] += costs[r]; });
  work.parts.push_back(make_part(graph, "host", costs, needs));
}

void allocate(Segment& segment, MemoryPart part, double bytes) {
  if (bytes != 0) segment.at_start.push_back({part, bytes});
}
void release(Segment& segment, MemoryPart part, double bytes) {
  if (bytes != 0) segment.at_finish.push_back({part, -bytes});
}

/// Activations are allocated when the forward starts and freed when the backward ends. A split
/// backward frees a part of them after the input gradient and the rest after the weight gradient.
/// With a pass that recomputes the stage, only the input of the stage stays until it runs. The loss
/// buffers and the working set of a pass only live inside it.
void attach_memory(TaskGraph& graph, const models::StageMemory& m, const WorkNeeds& needs,
                   double share, bool last, bool backward, const SliceWork& work) {
  // In a pool the last stage goes back at once, and inputs wait in host memory.
  const bool recomputes = needs.roles[index_of(Role::Recompute)] && !(needs.pooled && last);
  const bool leaves = needs.forward_only || !backward || (needs.pooled && recomputes);
  const double early = recomputes ? m.checkpoint * share : m.activation * share;
  const double whole = m.activation * share + (recomputes && !leaves ? m.checkpoint * share : 0);
  const double kept = m.kept_for_weights * share;
  for_each_role(needs, [&](Role role, std::size_t r) {
    Segment& segment = graph.segments[work.segment[r]];
    const bool forward = role == Role::Forward || role == Role::Recompute;
    if (role == Role::Forward) allocate(segment, MemoryPart::Activations, early);
    if (role == Role::Recompute) allocate(segment, MemoryPart::Activations, m.activation * share);
    if (role == Role::Forward && leaves) release(segment, MemoryPart::Activations, early);
    if (role == Role::Backward) release(segment, MemoryPart::Activations, whole);
    if (role == Role::Input) release(segment, MemoryPart::Activations, whole - kept);
    if (role == Role::Weight) release(segment, MemoryPart::Activations, kept);
    if (role != Role::Weight) {
      allocate(segment, MemoryPart::Logits, m.logits * share);
      release(segment, MemoryPart::Logits, m.logits * share);
    }
    if (!forward) {
      allocate(segment, MemoryPart::Workspace, m.workspace);
      release(segment, MemoryPart::Workspace, m.workspace);
    }
  });
}

void add_whole(TaskGraph& graph, const WorkNeeds& needs, const Costs& sum, SliceWork& work) {
  for_each_role(needs, [&](Role, std::size_t r) {
    work.segment[r] = add_segment(graph, kRoleNames[r], sum[r]);
  });
}

void keep_whole(const CostContext& context, const WorkNeeds& needs, const Costs& sum,
                SliceWork& work) {
  if (!context.pairs) return;
  for_each_role(needs, [&](Role, std::size_t r) {
    work.whole[r] = std::make_shared<const PassCost>(sum[r]);
  });
}

/// The layers of multi-token prediction with their joins and heads; embedding and head are those of
/// the model.
void add_predictions(TaskGraph& graph, const Stage& stage, std::size_t slice,
                     const WorkNeeds& needs, LayerTable& table, SliceWork& work, Costs& sum) {
  const CostContext& context = *table.context();
  const Scenario& s = *context.scenario;
  const auto kind = static_cast<std::size_t>(s.model.layers.back());
  for (int i = 0; i < s.model.prediction_layers; ++i) {
    const LayerTable::Entry& entry =
        table.get(slice, kind, models::recomputes(s, stage.layers + i));
    work.parts.push_back(entry.part);
    Costs costs;
    for_each_role(needs, [&](Role role, std::size_t r) {
      costs[r] = prediction_cost(context, work_role(role), needs.slices[slice]);
      add_scale_loss(context, costs[r]);
      sum[r] += entry.cost[r];
      sum[r] += costs[r];
    });
    PassPart part = make_part(graph, "prediction", costs, needs);
    const double own =
        static_cast<double>(models::prediction_layer_parameters(s.model) -
                            models::layer_parameters(s.model, models::last_layer(s.model))) /
        s.parallel.tp;
    part.gather_bytes.dense = own * models::state_bytes(s).weight;
    part.reduce_bytes.dense = own * reduced_bytes(s);
    work.parts.push_back(std::move(part));
  }
}

SliceWork build_slice(TaskGraph& graph, const Stage& stage, std::size_t slice,
                      const WorkNeeds& needs, LayerTable& table) {
  const CostContext& context = *table.context();
  const Scenario& s = *context.scenario;
  SliceWork work;
  Costs sum;
  add_microbatch_host(graph, s, needs, needs.slices[slice], work, sum);
  if (stage.embedding) add_end(graph, context, needs, needs.slices[slice], work, sum, false);
  for (int i = 0; i < stage.layers; ++i) {
    const LayerTable::Entry& entry =
        table.get(slice, models::kind_at(s.model, stage, i), models::recomputes(s, i));
    work.parts.push_back(entry.part);
    for (std::size_t r = 0; r < kRoles; ++r) sum[r] += entry.cost[r];
  }
  if (stage.head) add_end(graph, context, needs, needs.slices[slice], work, sum, true);
  if (stage.head) add_predictions(graph, stage, slice, needs, table, work, sum);
  add_whole(graph, needs, sum, work);
  keep_whole(context, needs, sum, work);
  return work;
}

StageWork build_stage(TaskGraph& graph, const Stage& stage, bool backward, const WorkNeeds& needs,
                      LayerTable& table) {
  const Scenario& s = *table.context()->scenario;
  StageWork work;
  work.memory = models::stage_memory(s, *table.context()->plan, stage);
  work.parameters = trained_parameters(s, stage);
  for (std::size_t slice = 0; slice < needs.slices.size(); ++slice) {
    work.slices.push_back(build_slice(graph, stage, slice, needs, table));
    attach_memory(graph, work.memory, needs, needs.slices[slice].share(), stage.head, backward,
                  work.slices.back());
  }
  for (const PassPart& part : work.slices.front().parts) {
    work.gather_bytes += part.gather_bytes;
    work.reduce_bytes += part.reduce_bytes;
  }
  return work;
}

/// Seconds of a pass where stage times are given.
double given_seconds(const models::GivenCosts& given, Role role) {
  switch (role) {
    case Role::Forward:
    case Role::Recompute:
      return given.forward.value;
    case Role::Backward:
      return given.input_gradient.value + given.weight_gradient.value;
    case Role::Input:
      return given.input_gradient.value;
    case Role::Weight:
      return given.weight_gradient.value;
    case Role::Force:
    case Role::ForceBackward:
      break;  // work_role has named them
  }
  return 0;
}

Role given_role(const Scenario& s, Role role) {
  return s.frozen && role == Role::Backward ? Role::Input : work_role(role);
}

/// Stages whose passes are given: all alike, each chunk its share of the device-stage; or by layer,
/// with the ends modelled. Slices take their share.
StageWork given_stage(TaskGraph& graph, const Stage& stage, bool backward, const WorkNeeds& needs,
                      const CostContext& context) {
  const Scenario& s = *context.scenario;
  const models::GivenCosts& given = *s.costs;
  const double share =
      given.layers > 0 ? static_cast<double>(stage.layers) / given.layers : 1.0 / s.schedule.chunks;
  StageWork work;
  work.memory = models::stage_memory(s, *context.plan, stage);
  if (given.activation.value > 0) work.memory.activation = given.activation.value * share;
  work.memory.kept_for_weights = std::min(work.memory.kept_for_weights, work.memory.activation);
  work.parameters = trained_parameters(s, stage);
  for (const Slice& slice : needs.slices) {
    SliceWork& part = work.slices.emplace_back();
    Costs sum;
    for_each_role(needs, [&](Role role, std::size_t r) {
      sum[r].seconds = given_seconds(given, given_role(s, role)) * share * slice.share();
      sum[r].parts[static_cast<std::size_t>(Part::Compute)] = sum[r].seconds;
    });
    add_microbatch_host(graph, s, needs, slice, part, sum);
    if (given.layers > 0 && stage.embedding)
      add_end(graph, context, needs, slice, part, sum, false);
    if (given.layers > 0 && stage.head) add_end(graph, context, needs, slice, part, sum, true);
    add_whole(graph, needs, sum, part);
    part.parts.resize(1);
    part.parts.front() = {part.segment, {}, {}, {}};
    attach_memory(graph, work.memory, needs, slice.share(), stage.head, backward, part);
  }
  return work;
}

bool same_composition(const Scenario& s, const Stage& a, const Stage& b) {
  if (a.layers != b.layers || a.embedding != b.embedding || a.head != b.head) return false;
  for (int i = 0; i < a.layers; ++i) {
    if (models::kind_at(s.model, a, i) != models::kind_at(s.model, b, i)) return false;
  }
  return true;
}

}  // namespace

std::vector<StageWork> cost_stages(TaskGraph& graph, const models::Plan& plan,
                                   const std::vector<HeldStage>& held, const WorkNeeds& needs) {
  std::vector<StageWork> work;
  work.reserve(held.size());
  std::vector<LayerTable> tables;
  std::vector<std::size_t> distinct;  // stages that were costed, not copied
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(held[i].stage)];
    const CostContext* context = held[i].context;
    const Scenario& s = *context->scenario;
    const auto twin = std::find_if(distinct.begin(), distinct.end(), [&](std::size_t j) {
      return context == held[j].context && held[i].backward == held[j].backward &&
             same_composition(s, stage, plan.stages[static_cast<std::size_t>(held[j].stage)]);
    });
    if (twin != distinct.end()) {
      work.push_back(work[*twin]);
      continue;
    }
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const LayerTable& t) { return t.context() == context; });
    if (table == tables.end()) table = tables.emplace(tables.end(), *context, graph, needs);
    work.push_back(s.costs ? given_stage(graph, stage, held[i].backward, needs, *context)
                           : build_stage(graph, stage, held[i].backward, needs, *table));
    work.back().mesh = static_cast<std::size_t>(stage.mesh);
    distinct.push_back(i);
  }
  return work;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/stage_work.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using models::Phase;
using models::Scenario;
using models::Stage;

/// Extra time of every pass on a machine of many nodes: jitter and stragglers, a share per doubling
/// of the nodes in use.
void add_scale_loss(const CostContext& context, PassCost& cost) {
  const Scenario& s = *context.scenario;
  if (s.stack.scale_loss <= 0) return;
  const double nodes = std::max(1.0, static_cast<double>(s.parallel.world_size()) /
                                         s.cluster.groups.front().devices_per_node);
  const double extra = cost.seconds * s.stack.scale_loss * std::log2(nodes);
  add_tail(cost, Part::Straggler, extra);
}

std::shared_ptr<const std::vector<InnerTask>> share_inner(const PassCost& cost) {
  if (cost.inner.empty()) return nullptr;
  return std::make_shared<const std::vector<InnerTask>>(cost.inner);
}

/// Layer costs of one context, by kind and by whether the layer is recomputed.
class LayerTable {
 public:
  LayerTable(const CostContext& context, TaskGraph& graph) : context_(&context), graph_(&graph) {
    entries_.resize(2 * context.scenario->model.kinds.size());
  }
  struct Entry {
    bool ready = false;
    LayerCost cost;
    PassPart part;
  };
  const CostContext* context() const { return context_; }
  const Entry& get(std::size_t kind, bool recomputed) {
    Entry& entry = entries_[2 * kind + (recomputed ? 1 : 0)];
    if (entry.ready) return entry;
    const Scenario& s = *context_->scenario;
    entry.cost = layer_cost(*context_, s.model.kinds[kind], recomputed);
    add_scale_loss(*context_, entry.cost.forward);
    add_scale_loss(*context_, entry.cost.backward);
    entry.part = {add_segment(*graph_, "layer F", entry.cost.forward),
                  add_segment(*graph_, "layer BW", entry.cost.backward),
                  entry.cost.gather_bytes,
                  entry.cost.reduce_bytes,
                  share_inner(entry.cost.forward),
                  share_inner(entry.cost.backward)};
    entry.ready = true;
    return entry;
  }

 private:
  const CostContext* context_;
  TaskGraph* graph_;
  std::vector<Entry> entries_;
};

struct Pass2 {
  PassCost forward, backward;
};

void add_end(TaskGraph& graph, const CostContext& context, StageWork& work, Pass2& sum, bool head) {
  const Scenario& s = *context.scenario;
  PassCost forward = end_cost(context, head, Phase::Forward);
  PassCost backward = end_cost(context, head, Phase::Input);
  add_scale_loss(context, forward);
  add_scale_loss(context, backward);
  const double parameters = static_cast<double>(head ? s.model.vocab * s.model.hidden
                                                     : models::embedding_parameters(s.model)) /
                            s.parallel.tp;
  const bool own = !(head && s.model.tied && s.parallel.pp == 1);  // tied on one rank: one matrix
  PassPart part;
  part.forward = add_segment(graph, head ? "head F" : "embedding F", forward);
  part.backward = add_segment(graph, head ? "head BW" : "embedding BW", backward);
  part.forward_inner = share_inner(forward);
  part.backward_inner = share_inner(backward);
  part.gather_bytes = own ? parameters * models::state_bytes(s).weight : 0;
  part.reduce_bytes = own ? parameters * models::element_bytes(s.stack.gradient_reduce) : 0;
  work.parts.push_back(part);
  sum.forward += forward;
  sum.backward += backward;
}

/// Activations are allocated when the forward starts and freed when the backward ends; the loss
/// buffers and the working set of a pass only live inside it.
void attach_memory(TaskGraph& graph, StageWork& work) {
  Segment& forward = graph.segments[work.forward];
  Segment& backward = graph.segments[work.backward];
  const models::StageMemory& m = work.memory;
  const auto both = [](Segment& segment, MemoryPart part, double bytes) {
    if (bytes <= 0) return;
    segment.at_start.push_back({part, bytes});
    segment.at_finish.push_back({part, -bytes});
  };
  if (m.activation > 0) {
    forward.at_start.push_back({MemoryPart::Activations, m.activation});
    backward.at_finish.push_back({MemoryPart::Activations, -m.activation});
  }
  both(forward, MemoryPart::Logits, m.logits);
  both(backward, MemoryPart::Logits, m.logits);
  both(backward, MemoryPart::Workspace, m.workspace);
}

StageWork build_stage(TaskGraph& graph, const models::Plan& plan, const Stage& stage,
                      LayerTable& table) {
  const CostContext& context = *table.context();
  const Scenario& s = *context.scenario;
  StageWork work;
  Pass2 sum;
  if (stage.embedding) add_end(graph, context, work, sum, false);
  for (int i = 0; i < stage.layers; ++i) {
    const LayerTable::Entry& entry =
        table.get(models::kind_at(s.model, stage, i), models::recomputes(s, i));
    work.parts.push_back(entry.part);
    sum.forward += entry.cost.forward;
    sum.backward += entry.cost.backward;
  }
  if (stage.head) add_end(graph, context, work, sum, true);
  work.forward = add_segment(graph, "F", sum.forward);
  work.backward = add_segment(graph, "BW", sum.backward);
  work.memory = models::stage_memory(s, plan, stage);
  work.parameters = models::stage_parameters(s, stage);
  for (const PassPart& part : work.parts) {
    work.gather_bytes += part.gather_bytes;
    work.reduce_bytes += part.reduce_bytes;
  }
  attach_memory(graph, work);
  return work;
}

/// Stages whose passes are given: all alike, each chunk its share of the device-stage; or by layer,
/// with the ends modelled.
StageWork given_stage(TaskGraph& graph, const models::Plan& plan, const Stage& stage,
                      const CostContext& context) {
  const Scenario& s = *context.scenario;
  const models::GivenCosts& given = *s.costs;
  const double share =
      given.layers > 0 ? static_cast<double>(stage.layers) / given.layers : 1.0 / s.schedule.chunks;
  StageWork work;
  Pass2 sum;
  sum.forward.seconds = given.forward.value * share;
  sum.backward.seconds = (given.input_gradient.value + given.weight_gradient.value) * share;
  sum.forward.parts[static_cast<std::size_t>(Part::Compute)] = sum.forward.seconds;
  sum.backward.parts[static_cast<std::size_t>(Part::Compute)] = sum.backward.seconds;
  if (given.layers > 0 && stage.embedding) add_end(graph, context, work, sum, false);
  if (given.layers > 0 && stage.head) add_end(graph, context, work, sum, true);
  work.forward = add_segment(graph, "F", sum.forward);
  work.backward = add_segment(graph, "BW", sum.backward);
  work.parts = {{work.forward, work.backward, 0, 0, nullptr, nullptr}};
  work.memory = models::stage_memory(s, plan, stage);
  if (given.activation.value > 0) work.memory.activation = given.activation.value * share;
  work.parameters = models::stage_parameters(s, stage);
  attach_memory(graph, work);
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

std::uint16_t add_segment(TaskGraph& graph, std::string name, const PassCost& cost) {
  PACELINE_CHECK(graph.segments.size() < 65535);
  Segment segment;
  segment.name = std::move(name);
  segment.parts = cost.parts;
  segment.bytes = cost.bytes;
  segment.flops = cost.flops;
  segment.seconds = cost.seconds;
  for (const InnerTask& task : cost.inner) {
    if (task.stream == Stream::Compute || task.finish <= task.start) continue;
    segment.inner.push_back({task.stream, task.name, task.start, task.finish, task.sent});
  }
  graph.segments.push_back(std::move(segment));
  return static_cast<std::uint16_t>(graph.segments.size() - 1);
}

std::vector<StageWork> cost_stages(TaskGraph& graph, const models::Plan& plan,
                                   const std::vector<const CostContext*>& contexts) {
  const Scenario& s = *contexts.front()->scenario;
  std::vector<StageWork> work;
  work.reserve(plan.stages.size());
  std::vector<LayerTable> tables;
  std::vector<std::size_t> distinct;  // stages that were costed, not copied
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    const auto twin = std::find_if(distinct.begin(), distinct.end(), [&](std::size_t j) {
      return contexts[i] == contexts[j] && same_composition(s, stage, plan.stages[j]);
    });
    if (twin != distinct.end()) {
      work.push_back(work[*twin]);
      continue;
    }
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const LayerTable& t) { return t.context() == contexts[i]; });
    if (table == tables.end()) table = tables.emplace(tables.end(), *contexts[i], graph);
    work.push_back(s.costs ? given_stage(graph, plan, stage, *contexts[i])
                           : build_stage(graph, plan, stage, *table));
    distinct.push_back(i);
  }
  return work;
}

}  // namespace paceline::sim

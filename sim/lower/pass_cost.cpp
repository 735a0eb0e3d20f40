// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/pass_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/collnet.hpp"
#include "models/cost/memory.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/inner_tasks.hpp"

namespace paceline::sim {
namespace {

using models::Op;
using models::OpKind;
using models::Phase;

Stream stream_of(const Op& op) {
  return op.axis == models::GroupAxis::Tp ? Stream::Tp : Stream::Cp;
}

double op_seconds(const CostContext& c, const Op& op) {
  if (op.kind != OpKind::Collective) return models::kernel_time(c.kernels, op).value;
  if (group_of(c, op).ranks <= 1) return 0;
  return choice_of(c, op).time.value * collective_factor(c, op);
}

bool overlaps(const std::vector<Op>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.beside > 0; });
}

Part exposed_part(Stream stream) {
  return stream == Stream::Tp ? Part::ExposedTp : Part::ExposedCp;
}

/// Compute seconds go to Compute; what the chain waits for goes to the collective it waits for.
PassCost evaluate_overlapped(const CostContext& context, const std::vector<Op>& ops) {
  const TaskGraph graph = inner_graph(context, ops);
  const Timeline timeline = run_reference(graph);
  PassCost cost;
  cost.seconds = timeline.makespan;
  double busy_until = 0;
  Part waiting = Part::ExposedTp;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.stream != Stream::Compute) {
      waiting = exposed_part(task.stream);
      continue;
    }
    cost.parts[static_cast<std::size_t>(waiting)] += std::max(0.0, timeline.start[t] - busy_until);
    cost.parts[static_cast<std::size_t>(Part::Compute)] += timeline.finish[t] - timeline.start[t];
    busy_until = timeline.finish[t];
  }
  cost.parts[static_cast<std::size_t>(waiting)] += timeline.makespan - busy_until;
  return cost;
}

PassCost evaluate_serial(const CostContext& context, const std::vector<Op>& ops) {
  PassCost cost;
  for (const Op& op : ops) {
    const double seconds = op_seconds(context, op);
    const Part part = op.kind == OpKind::Collective ? exposed_part(stream_of(op)) : Part::Compute;
    cost.parts[static_cast<std::size_t>(part)] += seconds;
    cost.seconds += seconds;
  }
  return cost;
}

void add_host(const CostContext& context, PassCost& cost, double host) {
  const double extra =
      context.scenario->stack.blocking_launch ? host : std::max(0.0, host - cost.seconds);
  add_tail(cost, Part::Host, extra);
}

}  // namespace

const models::CollectiveGroup& group_of(const CostContext& c, const Op& op) {
  return op.axis == models::GroupAxis::Tp ? c.tp : c.cp;
}

models::CollectiveChoice choice_of(const CostContext& c, const Op& op) {
  return models::collective_time(op.collective, base::Bytes(op.bytes), group_of(c, op), *c.nccl);
}

double collective_factor(const CostContext& c, const Op& op) {
  return op.axis == models::GroupAxis::Tp ? c.scenario->stack.tp_factor : 1;
}

CostContext cost_context(const models::Scenario& s, const models::Plan& plan, int first_device) {
  CostContext c;
  c.scenario = &s;
  c.plan = &plan;
  const std::size_t group = s.cluster.place_of(first_device).group;
  c.kernels = models::kernel_model(s.cluster.groups[group].device, s.profiles[group], s.stack,
                                   s.attention, s.model, s.precision);
  using Names = std::array<std::string_view, 1>;
  c.tp = models::group_of(plan, s, Names{"tp"}, first_device);
  c.cp = models::group_of(plan, s, Names{"cp"}, first_device);
  c.data = models::data_groups(plan, s, first_device);
  c.nccl = &models::nccl_release(s.stack.nccl);
  c.overlap_slowdown = s.stack.overlap_slowdown.value_or(
      s.profiles[group].overlap_slowdown.value_or(s.cluster.groups[group].device.overlap_slowdown));
  return c;
}

void add_tail(PassCost& cost, Part part, double seconds) {
  if (!cost.inner.empty() && seconds > 0) {
    InnerTask tail;
    tail.part = part;
    tail.name = part == Part::Host ? "host" : "straggler";
    tail.seconds = tail.finish = seconds;
    append_inner(cost.inner, {tail}, cost.seconds);
  }
  cost.seconds += seconds;
  cost.parts[static_cast<std::size_t>(part)] += seconds;
}

PassCost& PassCost::operator+=(const PassCost& o) {
  append_inner(inner, o.inner, seconds);
  seconds += o.seconds;
  flops += o.flops;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += o.parts[i];
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += o.bytes[i];
  return *this;
}

TaskGraph inner_graph(const CostContext& context, const std::vector<Op>& ops) {
  TaskGraph graph;
  graph.lanes.resize(1);
  graph.segments.resize(1);
  struct Pending {
    int left;
    TaskId task;
  };
  std::vector<Pending> pending;
  std::vector<TaskId> deps;
  bool any = false;
  TaskId last = 0;
  const double exposed = context.scenario->stack.tp_exposed;
  const auto add = [&](Stream stream, TaskKind kind, double seconds, std::uint32_t origin) {
    if (any) deps.push_back(last);
    Task task;
    task.seconds = seconds;
    task.stream = stream;
    task.kind = kind;
    task.origin = origin;
    const TaskId id = graph.add(task, deps);
    deps.clear();
    any = true;
    return id;
  };
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const double seconds = op_seconds(context, op);
    if (op.kind == OpKind::Collective && op.beside == 0) {
      last = add(stream_of(op), TaskKind::Collective, seconds, i);
    } else if (op.kind == OpKind::Collective) {
      last = add(stream_of(op), TaskKind::Collective, exposed * seconds, i);
      const TaskId rest = add(stream_of(op), TaskKind::Collective, (1 - exposed) * seconds, i);
      pending.push_back({op.beside, rest});
    } else {
      for (const Pending& p : pending) {
        if (p.left == 0) deps.push_back(p.task);
      }
      std::erase_if(pending, [](const Pending& p) { return p.left == 0; });
      last = add(Stream::Compute, TaskKind::Kernel, seconds, i);
      for (Pending& p : pending) --p.left;
    }
  }
  return graph;
}

PassCost evaluate(const CostContext& context, const std::vector<Op>& ops) {
  PassCost cost = overlaps(ops) ? evaluate_overlapped(context, ops) : evaluate_serial(context, ops);
  if (context.keep_inner) cost.inner = inner_tasks(context, ops);
  cost.flops = models::matrix_flops(ops);
  for (const Op& op : ops) {
    if (op.kind != OpKind::Collective) continue;
    cost.bytes[static_cast<std::size_t>(stream_of(op))] +=
        models::bytes_sent(op.collective, choice_of(context, op).algorithm, base::Bytes(op.bytes),
                           group_of(context, op))
            .value;
  }
  return cost;
}

namespace {

/// The operations of a backward that belong to one of its halves. A collective keeps running beside
/// those of the operations after it that stay.
std::vector<Op> half_of(const std::vector<Op>& ops, bool weight) {
  const auto stays = [&](const Op& op) { return (op.phase == Phase::Weight) == weight; };
  std::vector<Op> half;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!stays(ops[i])) continue;
    half.push_back(ops[i]);
    int left = ops[i].beside, beside = 0;
    for (std::size_t k = i + 1; k < ops.size() && left > 0; ++k) {
      if (ops[k].kind == OpKind::Collective) continue;
      --left;
      if (stays(ops[k])) ++beside;
    }
    half.back().beside = beside;
  }
  return half;
}

std::size_t kernels(const std::vector<Op>& ops) {
  return static_cast<std::size_t>(std::count_if(
      ops.begin(), ops.end(), [](const Op& op) { return op.kind != OpKind::Collective; }));
}

models::LayerShape shape_of(const CostContext& context, const Slice& slice) {
  models::LayerShape shape = models::layer_shape(*context.scenario);
  shape.tokens *= slice.share();
  shape.slice_begin = slice.begin;
  shape.slice_end = slice.end;
  return shape;
}

PassCost forward_cost(const CostContext& context, const models::Layer& layer,
                      const models::LayerShape& shape, bool to_last_input) {
  std::vector<Op> ops;
  models::append_forward(ops, context.scenario->model, layer, shape, to_last_input);
  return evaluate(context, ops);
}

/// A whole backward, or a half of it with its share of the launches.
PassCost backward_cost(const CostContext& context, const models::Layer& layer,
                       const models::LayerShape& shape, Role role) {
  const models::Scenario& s = *context.scenario;
  std::vector<Op> ops;
  if (s.recompute == models::Recompute::Selective) models::append_core_recompute(ops, layer, shape);
  models::append_backward(ops, s.model, layer, shape);
  const double all = static_cast<double>(kernels(ops));
  if (role != Role::Backward) ops = half_of(ops, role == Role::Weight);
  const double share = role == Role::Backward ? 1 : static_cast<double>(kernels(ops)) / all;
  PassCost cost = evaluate(context, ops);
  add_host(context, cost, s.stack.host_layer_backward.value * share);
  return cost;
}

}  // namespace

PassCost layer_cost(const CostContext& context, const models::Layer& layer, bool recomputed,
                    Role role, const Slice& slice) {
  const models::Scenario& s = *context.scenario;
  if (s.frozen && role == Role::Weight) return {};
  if (s.frozen && role == Role::Backward) role = Role::Input;  // no gradients of its weights
  const models::LayerShape shape = shape_of(context, slice);
  const auto forward = [&] {
    PassCost cost = forward_cost(context, layer, shape, false);
    add_host(context, cost, s.stack.host_layer_forward.value);
    return cost;
  };
  if (role == Role::Forward || role == Role::Recompute) return forward();
  PassCost cost = backward_cost(context, layer, shape, role);
  if (!recomputed || role == Role::Weight) return cost;
  cost += s.stack.recompute_stops_early ? forward_cost(context, layer, shape, true) : forward();
  return cost;
}

PassCost end_cost(const CostContext& context, bool head, Role role, const Slice& slice,
                  int shares) {
  const models::Scenario& s = *context.scenario;
  if (s.frozen && role == Role::Weight) return {};
  if (s.frozen && role == Role::Backward) role = Role::Input;
  const models::LayerShape shape = shape_of(context, slice);
  const Phase phase =
      role == Role::Forward || role == Role::Recompute ? Phase::Forward : Phase::Input;
  std::vector<Op> ops;
  if (head) {
    const std::int64_t vocab = (s.model.vocab + shares - 1) / shares;
    models::append_head(ops, s.model, vocab, shape, phase);
  } else {
    models::append_embedding(ops, s.model, shape, phase);
  }
  // The embedding's backward is all gradient of its weights.
  if (role == Role::Input) ops = head ? half_of(ops, false) : std::vector<Op>{};
  if (role == Role::Weight && head) ops = half_of(ops, true);
  return evaluate(context, ops);
}

}  // namespace paceline::sim

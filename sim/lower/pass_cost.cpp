// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/pass_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/collnet.hpp"
#include "models/cost/memory.hpp"
#include "models/workload/expert_load.hpp"
#include "sim/documents.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/encoded.hpp"
#include "sim/lower/inner_tasks.hpp"

namespace paceline::sim {
Part exposed_part(Stream stream) {
  if (stream == Stream::Tp) return Part::ExposedTp;
  return stream == Stream::Cp ? Part::ExposedCp : Part::ExposedEp;
}

namespace {

using models::Op;
using models::OpKind;
using models::Phase;

/// Exchanges of experts follow one another whatever their group: one stream.
Stream stream_of(const Op& op) {
  switch (op.axis) {
    case models::GroupAxis::Tp:
      return Stream::Tp;
    case models::GroupAxis::Cp:
    case models::GroupAxis::CpInner:
      return Stream::Cp;
    case models::GroupAxis::CpOuter:
    case models::GroupAxis::Servers:
      return Stream::CpOuter;
    case models::GroupAxis::Ep:
    case models::GroupAxis::Etp:
      break;
  }
  return Stream::Ep;
}

/// Share of an overlapped collective that is waited for all the same: user buffers expose the first
/// chunk of tensor-parallel ones.
double exposed_share(const CostContext& c, const Op& op) {
  return op.axis == models::GroupAxis::Tp ? c.scenario->stack.tp_exposed : 0;
}

double op_seconds(const CostContext& c, const Op& op) {
  if (op.kind != OpKind::Collective) return models::kernel_time(c.kernels, op).value;
  if (group_of(c, op).ranks <= 1) return 0;
  if (const auto t = encoded_time(c, op)) return (t->encode + t->wire + t->decode).value;
  return choice_of(c, op).time.value * collective_factor(c, op);
}

bool overlaps(const std::vector<Op>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.beside > 0; });
}

bool multiplies(const Op& op) { return op.kind != OpKind::Collective && op.kind != OpKind::Stream; }

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
    if (multiplies(ops[task.origin])) cost.matrix_seconds += timeline.finish[t] - timeline.start[t];
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
    double codec = 0;
    if (op.kind == OpKind::Collective) {
      if (const auto t = encoded_time(context, op)) codec = (t->encode + t->decode).value;
    }
    cost.parts[static_cast<std::size_t>(part)] += seconds - codec;
    cost.parts[static_cast<std::size_t>(Part::Codec)] += codec;
    if (multiplies(op)) cost.matrix_seconds += seconds;
    cost.seconds += seconds;
  }
  return cost;
}

void add_host(const CostContext& context, PassCost& cost, double host) {
  cost.host += host;
  const double extra =
      context.scenario->stack.blocking_launch ? host : std::max(0.0, host - cost.seconds);
  add_tail(cost, Part::Host, extra);
}

}  // namespace

const models::CollectiveGroup& group_of(const CostContext& c, const Op& op) {
  switch (op.axis) {
    case models::GroupAxis::Tp:
      return c.tp;
    case models::GroupAxis::Cp:
      return c.cp;
    case models::GroupAxis::CpInner:
      return c.cp_inner;
    case models::GroupAxis::CpOuter:
      return c.cp_outer;
    case models::GroupAxis::Servers:
      return c.data.all;
    case models::GroupAxis::Ep:
      return c.experts.ep;
    case models::GroupAxis::Etp:
      break;
  }
  return c.experts.etp;
}

models::CollectiveChoice choice_of(const CostContext& c, const Op& op) {
  if (op.across + op.inside > 0)
    return models::two_step_time(base::Bytes(op.across), base::Bytes(op.inside), group_of(c, op),
                                 *c.nccl);
  return models::collective_time(op.collective, base::Bytes(op.bytes), group_of(c, op), *c.nccl);
}

double collective_factor(const CostContext& c, const Op& op) {
  return op.axis == models::GroupAxis::Tp ? c.scenario->stack.tp_factor : 1;
}

namespace {

/// Collectives of context parallelism beside the kernels of a list: a kernel beside them is slower,
/// as one beside data-parallel communication is (sim/engine/overlap.hpp). Messages are not counted:
/// they take a channel or two, and the attention of rings runs at the kernel's own rate (NeMo's
/// long-sequence page: 298 to 320 TFLOP/s between rows of cp 1 to 32 on H100).
class ContextTraffic {
 public:
  explicit ContextTraffic(double slowdown) : slowdown_(slowdown) {}
  void add(Stream stream, double seconds) { left_[stream == Stream::Cp ? 0 : 1] += seconds; }
  /// The time of a kernel of so many seconds; what travels goes on meanwhile.
  double stretched(double seconds) {
    const double busy = std::max(left_[0], left_[1]);
    const double done = busy / slowdown_;  // of the kernel, when nothing travels any more
    const double took = seconds <= done ? seconds * slowdown_ : busy + (seconds - done);
    for (double& left : left_) left = std::max(0.0, left - took);
    return busy > 0 ? took : seconds;
  }

 private:
  double slowdown_;
  std::array<double, 2> left_{};  ///< seconds, of Cp and CpOuter
};

}  // namespace

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
  ContextTraffic traffic(context.overlap_slowdown);
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
      const double exposed = exposed_share(context, op);
      if (exposed > 0) last = add(stream_of(op), TaskKind::Collective, exposed * seconds, i);
      const TaskId rest = add(stream_of(op), TaskKind::Collective, (1 - exposed) * seconds, i);
      if (op.axis != models::GroupAxis::Tp && op.collective != models::CollectiveOp::SendRecv)
        traffic.add(stream_of(op), seconds);
      pending.push_back({op.beside, rest});
    } else {
      for (const Pending& p : pending) {
        if (p.left == 0) deps.push_back(p.task);
      }
      std::erase_if(pending, [](const Pending& p) { return p.left == 0; });
      last = add(Stream::Compute, TaskKind::Kernel, traffic.stretched(seconds), i);
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
    const bool two_step = op.across + op.inside > 0;
    const auto encoded = encoded_time(context, op);
    cost.bytes[static_cast<std::size_t>(stream_of(op))] +=
        encoded    ? encoded->sent.value
        : two_step ? op.across + op.inside
                   : models::bytes_sent(op.collective, choice_of(context, op).algorithm,
                                        base::Bytes(op.bytes), group_of(context, op))
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
  shape.packs = context.packs.get();
  shape.tokens *= slice.share();
  shape.slice_begin = slice.begin;
  shape.slice_end = slice.end;
  shape.experts.nodes = context.experts.ep.domains;
  shape.experts.load = context.expert_load;
  return shape;
}

/// What `list` makes of a shape, as a mean rank spends it: what it waits for the rank whose experts
/// have most tokens comes last.
template <class List>
PassCost with_straggler(const CostContext& context, const models::Layer& layer,
                        const models::LayerShape& shape, const List& list) {
  PassCost cost = evaluate(context, list(shape));
  if (layer.experts.count == 0 || context.expert_load_slowest <= context.expert_load) return cost;
  models::LayerShape slowest = shape;
  slowest.experts.load = context.expert_load_slowest;
  CostContext plain = context;
  plain.keep_inner = false;
  add_tail(cost, Part::Straggler,
           std::max(0.0, evaluate(plain, list(slowest)).seconds - cost.seconds));
  return cost;
}

PassCost forward_cost(const CostContext& context, const models::Layer& layer,
                      const models::LayerShape& shape, bool to_last_input) {
  return with_straggler(context, layer, shape, [&](const models::LayerShape& of) {
    std::vector<Op> ops;
    models::append_forward(ops, context.scenario->model, layer, of, to_last_input);
    return ops;
  });
}

/// Host time of a layer: experts without captured graphs have a floor of their own, of which a
/// third is the forward's.
double host_seconds(const models::Scenario& s, const models::Layer& layer, bool forward) {
  const models::Stack& stack = s.stack;
  const double base = (forward ? stack.host_layer_forward : stack.host_layer_backward).value;
  if (layer.experts.count == 0) return base;
  const base::Seconds floor =
      s.precision == models::Precision::Fp8 && stack.host_moe_layer_fp8 > base::Seconds(0)
          ? stack.host_moe_layer_fp8
          : stack.host_moe_layer;
  return std::max(base, floor.value * (forward ? 1.0 / 3 : 2.0 / 3));
}

/// A whole backward, or a half of it with its share of the launches.
PassCost backward_cost(const CostContext& context, const models::Layer& layer,
                       const models::LayerShape& shape, Role role) {
  const models::Scenario& s = *context.scenario;
  double share = 1;
  PassCost cost = with_straggler(context, layer, shape, [&](const models::LayerShape& of) {
    std::vector<Op> ops;
    if (s.recompute == models::Recompute::Selective) models::append_core_recompute(ops, layer, of);
    const std::size_t core = kernels(ops);
    models::append_part_recompute(ops, s.model, layer, of, s.recompute_parts);
    const std::size_t again = kernels(ops) - core;
    models::append_backward(ops, s.model, layer, of);
    // The host's time is that of a backward without parts that run again: they are launched too.
    const auto plain = static_cast<double>(kernels(ops) - again);
    share = static_cast<double>(kernels(ops)) / plain;
    if (role == Role::Backward) return ops;
    std::vector<Op> half = half_of(ops, role == Role::Weight);
    share = static_cast<double>(kernels(half)) / plain;
    return half;
  });
  add_host(context, cost, host_seconds(s, layer, false) * share);
  return cost;
}

}  // namespace

namespace {

CostContext of_layer(CostContext context, const models::Layer& layer) {
  context.layer = &layer;
  return context;
}

}  // namespace

double core_seconds(const CostContext& context, const models::Layer& layer,
                    const AttentionCore& core, const std::vector<models::Window>& packs) {
  if (context.layer == nullptr && encodes_inside(*context.scenario))
    return core_seconds(of_layer(context, layer), layer, core, packs);
  models::LayerShape shape = models::layer_shape(*context.scenario);
  shape.packs = &packs;
  const auto seconds = [&](Phase phase) {
    std::vector<Op> ops;
    if (!shape.context.method->traits.pooled) {
      models::append_core(ops, layer, shape, phase);
    } else if (phase == Phase::Forward) {
      models::append_forward(ops, context.scenario->model, layer, shape);
    } else {
      models::append_backward(ops, context.scenario->model, layer, shape);
      if (core.role == Role::Input) ops = half_of(ops, false);
    }
    return evaluate(context, ops).seconds;
  };
  switch (core.role) {
    case Role::Forward:
    case Role::Recompute:
      return seconds(Phase::Forward);
    case Role::Backward:
    case Role::Input:
      return seconds(Phase::Input) + (core.recomputed ? seconds(Phase::Forward) : 0);
    default:
      return 0;
  }
}

PassCost layer_cost(const CostContext& context, const models::Layer& layer, bool recomputed,
                    Role role, const Slice& slice) {
  const models::Scenario& s = *context.scenario;
  if (context.layer == nullptr && encodes_inside(s))
    return layer_cost(of_layer(context, layer), layer, recomputed, role, slice);
  if (s.frozen && role == Role::Weight) return {};
  if (s.frozen && role == Role::Backward) role = Role::Input;  // no gradients of its weights
  const models::LayerShape shape = shape_of(context, slice);
  const auto forward = [&] {
    PassCost cost = forward_cost(context, layer, shape, false);
    add_host(context, cost, host_seconds(s, layer, true));
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

PassCost prediction_cost(const CostContext& context, Role role, const Slice& slice) {
  if (context.scenario->frozen && role == Role::Weight) return {};
  if (context.scenario->frozen && role == Role::Backward) role = Role::Input;
  const bool forward = role == Role::Forward || role == Role::Recompute;
  std::vector<Op> ops;
  models::append_prediction(ops, context.scenario->model, shape_of(context, slice),
                            forward ? Phase::Forward : Phase::Input);
  if (role == Role::Input || role == Role::Weight) ops = half_of(ops, role == Role::Weight);
  return evaluate(context, ops);
}

}  // namespace paceline::sim

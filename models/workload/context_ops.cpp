// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/context/method.hpp"
#include "models/workload/op_builder.hpp"

/// The attention of a layer on the ranks of a context group: the work of a method as operations.
namespace paceline::models::detail {
namespace {

/// Partial outputs join those of earlier steps: a 16-bit one is read, an fp32 sum read and written.
/// Backward the gradients of queries, keys and values do, in 16 bits. Counted for all rows of the
/// busiest rank, as Transformer Engine's ring does (attention, context_parallel.py).
constexpr double kMergeForward = 2 + 4 + 4;
constexpr double kMergeBackward = 2 + 2 + 2;

GroupAxis axis_of(ContextGroup group) {
  switch (group) {
    case ContextGroup::All:
      return GroupAxis::Cp;
    case ContextGroup::Inner:
      return GroupAxis::CpInner;
    case ContextGroup::Outer:
      return GroupAxis::CpOuter;
    case ContextGroup::Servers:
      return GroupAxis::Servers;
  }
  return GroupAxis::Cp;
}

Run run_of(const LayerShape& s, double begin, double end) {
  return {0, std::llround(begin * s.sequence), std::llround(end * s.sequence)};
}

ContextTask dealt(const LayerShape& s, const Mask& mask) {
  const ContextOrder& order = *s.context.order;
  if (s.packs == nullptr) {
    const Run window = run_of(s, s.slice_begin, s.slice_end), before = run_of(s, 0, s.slice_begin);
    const std::span<const Run> earlier(&before, before.tokens() > 0 ? 1U : 0U);
    return context_task(order, std::span(&window, 1), earlier, s.cp, mask);
  }
  std::vector<ContextTask> tasks;
  for (const Window& pack : *s.packs)
    tasks.push_back(context_task(order, pack, earlier_of(pack), s.cp, mask));
  return tasks.size() == 1 ? std::move(tasks.front()) : pooled(tasks);
}

/// Windows that a task stands for: packs hold all of a microbatch.
double windows(const LayerShape& s) { return s.packs == nullptr ? s.sequences : 1; }

ContextTask task_of(const Builder& b, const Attention& a, Phase phase) {
  const LayerShape& s = b.shape();
  ContextTask task = dealt(s, mask_of(a));
  task.inner = s.context.inner;
  task.chunks = s.context.chunks;
  task.heads = static_cast<double>(a.heads) / b.t();
  task.kv_heads = std::max(static_cast<double>(a.kv_heads) / b.t(), 1.0);
  task.backward = phase != Phase::Forward;
  return task;
}

double exchange_bytes(const Builder& b, const Attention& a, const ContextExchange& e) {
  const Widths w = widths(a, b.t());
  const double keys = a.absorbed                        ? w.kv  // the latent is key and value
                      : a.kind == AttentionKind::Latent ? w.q + w.v
                                                        : 2 * w.kv;
  return 2 * windows(b.shape()) * (e.queries * w.q + e.keys * keys + e.outputs * w.v);
}

void exchange(Builder& b, const Attention& a, Phase phase, const ContextExchange& e, int beside) {
  b.collective(e.name, phase, e.op, axis_of(e.group), exchange_bytes(b, a, e), beside);
}

std::int64_t busiest_area(const ContextStep& step) {
  return step.twice_areas.empty()
             ? 0
             : *std::max_element(step.twice_areas.begin(), step.twice_areas.end());
}

/// Kernels of a step: none where the masks leave nothing to compute.
int kernels_of(const ContextStep& step) {
  if (busiest_area(step) == 0) return 0;
  return step.merges ? 2 : 1;
}

void step_kernel(Builder& b, const Attention& a, Phase phase, const ContextStep& step) {
  if (kernels_of(step) == 0) return;
  const double pairs = 0.5 * static_cast<double>(busiest_area(step)) * windows(b.shape());
  flash_kernel(b, a, phase,
               {pairs, static_cast<double>(a.heads) / b.t() * step.heads, step.length, step.rows});
  if (!step.merges) return;
  const Widths w = widths(a, b.t());
  const double rows = step.rows * windows(b.shape()) * step.heads;
  const double bytes =
      phase == Phase::Forward ? kMergeForward * w.v : kMergeBackward * (w.q + 2 * w.kv);
  b.stream("merge", phase, rows * bytes);
}

/// Kernels from step i to the one before step i + steps.
int kernels_between(const ContextWork& work, std::size_t i, int steps) {
  if (steps == ContextExchange::kRest) return steps;
  int kernels = 0;
  for (std::size_t k = i; k < i + static_cast<std::size_t>(steps) && k < work.steps.size(); ++k)
    kernels += kernels_of(work.steps[k]);
  return kernels;
}

}  // namespace

void context_core(Builder& b, const Attention& a, Phase phase) {
  const ContextWork work = b.shape().context.method->plan(task_of(b, a, phase));
  for (const ContextExchange& e : work.before) exchange(b, a, phase, e, 0);
  for (std::size_t i = 0; i < work.steps.size(); ++i) {
    for (const ContextExchange& e : work.steps[i].beside)
      exchange(b, a, phase, e, kernels_between(work, i, e.steps));
    step_kernel(b, a, phase, work.steps[i]);
  }
  for (const ContextExchange& e : work.after) exchange(b, a, phase, e, 0);
}

double context_buffer(Builder& b, const Attention& a) {
  const ContextWork work = b.shape().context.method->plan(task_of(b, a, Phase::Input));
  return exchange_bytes(
      b, a,
      {"", CollectiveOp::SendRecv, ContextGroup::All, work.queries, work.keys, work.outputs, 1});
}

}  // namespace paceline::models::detail

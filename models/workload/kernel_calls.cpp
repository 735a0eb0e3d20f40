// SPDX-License-Identifier: Apache-2.0
#include "models/workload/kernel_calls.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/memory.hpp"
#include "models/parallel/plan.hpp"

namespace paceline::models {
namespace {

std::int64_t whole(double extent) { return std::max<std::int64_t>(1, std::llround(extent)); }

std::string_view type_name(Precision precision) {
  return precision == Precision::Fp8 ? "fp8-e4m3" : to_text(precision);
}

std::string_view pass_name(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "forward";
    case Phase::Input:
      return "input-gradient";
    case Phase::Weight:
      return "weight-gradient";
  }
  return "";
}

using Sizes = std::initializer_list<std::pair<std::string_view, double>>;

KernelCall call(std::string_view kernel, std::string_view pass, Precision precision, Sizes sizes) {
  KernelCall result{std::string(kernel), std::string(pass), std::string(type_name(precision)), {}};
  for (const auto& [name, size] : sizes)
    result.extents.emplace_back(std::string(name), whole(size));
  return result;
}

/// Extents of a matrix product are those of its forward pass, y[m,n] = x[m,k] w[n,k]'. An Op has
/// C[m,n] += A[m,k] B[k,n]: dx[m,k] sums over n, and dw over the rows of x.
KernelCall product(const Op& op) {
  switch (op.phase) {
    case Phase::Forward:
      break;
    case Phase::Input:
      return call("gemm", pass_name(op.phase), op.precision,
                  {{"m", op.m}, {"n", op.k}, {"k", op.n}});
    case Phase::Weight:
      return call("gemm", pass_name(op.phase), op.precision,
                  {{"m", op.k}, {"n", op.n}, {"k", op.m}});
  }
  return call("gemm", pass_name(op.phase), op.precision, {{"m", op.m}, {"n", op.n}, {"k", op.k}});
}

/// The rows of all groups together are m.
KernelCall grouped(const Op& op) {
  Op all = op;
  (op.phase == Phase::Weight ? all.k : all.m) *= op.count;
  KernelCall result = product(all);
  result.kernel = "grouped-gemm";
  result.extents.insert(result.extents.begin(), {"groups", whole(op.count)});
  return result;
}

std::vector<KernelCall> elementwise(const Op& op) {
  const std::string_view pass = pass_name(op.phase);
  const bool forward = op.phase == Phase::Forward;
  if (op.kernel.empty()) return {};
  if (op.kernel == "triad")
    return {call(op.kernel, "forward", op.precision, {{"count", op.m * op.n}})};
  if (op.kernel == "rope")
    return {call(op.kernel, pass, op.precision,
                 {{"rows", op.m}, {"heads", op.heads}, {"head_dim", op.n}})};
  if (op.kernel == "cross-entropy")
    return {call(op.kernel, pass, op.precision, {{"rows", op.m}, {"vocab", op.n}})};
  if (op.kernel == "embedding")
    return {call(op.kernel, forward ? "forward" : "weight-gradient", op.precision,
                 {{"rows", op.m}, {"vocab", op.vocab}, {"columns", op.n}})};
  std::vector<KernelCall> calls{
      call(op.kernel, pass, op.precision, {{"rows", op.m}, {"columns", op.n}})};
  if (!forward && (op.kernel == "rmsnorm" || op.kernel == "layernorm"))
    calls.push_back(
        call(op.kernel, "weight-gradient", op.precision, {{"rows", op.m}, {"columns", op.n}}));
  return calls;
}

void add(std::vector<KernelCall>& calls, const KernelCall& one) {
  if (std::find(calls.begin(), calls.end(), one) == calls.end()) calls.push_back(one);
}

void add_all(std::vector<KernelCall>& calls, const std::vector<Op>& ops) {
  for (const Op& op : ops)
    for (const KernelCall& one : kernel_calls(op)) add(calls, one);
}

void add_optimizer(std::vector<KernelCall>& calls, const Scenario& s, const Plan& plan) {
  const auto ranks = static_cast<std::size_t>(s.parallel.pp);
  const DataRanks shards = s.parallel.zero >= 1 ? shard_ranks(s) : DataRanks{};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    double parameters = 0;
    for (std::size_t stage = rank; stage < plan.stages.size(); stage += ranks) {
      const HeldParameters held = held_parameters(s, plan.stages[stage]);
      parameters += held.dense / shards.dense + held.experts / shards.experts;
    }
    add(calls, call(s.optimizer.name == "sgd" ? "sgd" : "adamw", "step", s.optimizer.master,
                    {{"parameters", parameters}}));
  }
}

}  // namespace

std::vector<KernelCall> own_kernel_calls(const Op& op) {
  switch (op.kind) {
    case OpKind::Gemm:
      return {product(op)};
    case OpKind::BatchedGemm:
      // Both operands are activations: every one of them is a forward product of its shape.
      return {call("batched-gemm", "forward", op.precision,
                   {{"batch", op.count}, {"m", op.m}, {"n", op.n}, {"k", op.k}})};
    case OpKind::GroupedGemm:
      return {grouped(op)};
    case OpKind::Attention:
      return {call(op.kernel, op.phase == Phase::Forward ? "forward" : "backward", op.precision,
                   {{"batch", op.count},
                    {"heads", op.heads},
                    {"kv_heads", op.kv_heads},
                    {"queries", op.m},
                    {"keys", op.n},
                    {"head_dim", op.head_dim},
                    {"causal", 1}})};
    case OpKind::Stream:
      return elementwise(op);
    case OpKind::Collective:
      break;
  }
  return {};
}

std::vector<KernelCall> kernel_calls(const Op& op) {
  std::vector<KernelCall> calls = own_kernel_calls(op);
  if (calls.empty() && op.kind == OpKind::Stream) {
    calls.push_back(call("copy-d2d", "forward", op.precision, {{"bytes", op.bytes / 2}}));
    calls.back().type = "u8";
  }
  return calls;
}

std::optional<Precision> precision_named(std::string_view type) {
  if (type == "fp8-e4m3" || type == "fp8-e5m2") return Precision::Fp8;
  for (const auto& [name, precision] : kPrecisions)
    if (name == type && precision != Precision::Fp8) return precision;
  return std::nullopt;
}

std::optional<Op> matrix_op(std::string_view kernel, std::string_view pass, Precision precision,
                            const base::Extents& extents) {
  const auto value = [&](std::string_view name) {
    for (const auto& [key, size] : extents)
      if (key == name) return static_cast<double>(size);
    return 1.0;
  };
  Op op;
  op.kind = kernel == "batched-gemm" ? OpKind::BatchedGemm : OpKind::Gemm;
  if (kernel != "gemm" && kernel != "batched-gemm") return std::nullopt;
  op.precision = precision;
  op.count = value("batch");
  const double m = value("m"), n = value("n"), k = value("k");
  if (pass == "forward") {
    op.m = m, op.n = n, op.k = k;
  } else if (pass == "input-gradient") {
    op.phase = Phase::Input;
    op.m = m, op.n = k, op.k = n;
  } else if (pass == "weight-gradient") {
    op.phase = Phase::Weight;
    op.m = k, op.n = n, op.k = m;
    op.accumulates = true;  // dw += …, in fp32
  } else {
    return std::nullopt;
  }
  return op;
}

std::vector<KernelCall> scenario_kernel_calls(const Scenario& scenario) {
  const Plan plan = make_plan(scenario);
  const LayerShape shape = layer_shape(scenario);
  std::vector<KernelCall> calls;
  std::vector<Op> ops;
  append_embedding(ops, scenario.model, shape, Phase::Forward);
  for (const Layer& layer : scenario.model.kinds) {
    append_forward(ops, scenario.model, layer, shape);
    append_backward(ops, scenario.model, layer, shape);
  }
  append_head(ops, scenario.model, scenario.model.vocab, shape, Phase::Forward);
  append_head(ops, scenario.model, scenario.model.vocab, shape, Phase::Input);
  append_embedding(ops, scenario.model, shape, Phase::Input);
  add_all(calls, ops);
  add_optimizer(calls, scenario, plan);
  return calls;
}

}  // namespace paceline::models

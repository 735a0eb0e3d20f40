// SPDX-License-Identifier: Apache-2.0
#include "models/workload/moe_ops.hpp"

#include <algorithm>
#include <cmath>

#include "models/workload/dispatchers/dispatcher.hpp"

namespace paceline::models {
namespace {

using namespace detail;

constexpr int kFp8Rows = 16;  ///< FP8 tensor cores take whole groups of 16 along k
/// Per logit of the router: its fp32 copy (2 + 4), softmax (4 + 4), the choice (4), the shares of
/// each expert for the balancing loss (4 + 4); backward the same the other way.
constexpr double kRouterBytes = 26;

/// Casts of an expert's rows to FP8 and transposed copies for weight gradients, as for dense layers
/// (layer_ops.cpp): 4 B an element where 16 bits are read, 2 B behind an activation. What arrives
/// in FP8 was cast by its sender (3 B) and needs the transposed copy only (2 B), or in a 16-bit
/// product to be cast back (3 B).
void expert_casts(Builder& b, const Routed& r, double gate, bool forward) {
  const bool fp8 = b.shape().precision == Precision::Fp8;
  const bool sent = b.shape().experts.settings.fp8_dispatch;
  const Phase phase = forward ? Phase::Forward : Phase::Input;
  if (sent) b.stream("dispatch casts", phase, 3 * r.tokens * r.hidden, true);
  double bytes = sent ? 3 * r.hidden : 0;
  if (fp8) {
    const double cast = sent ? 2 : 4;
    bytes = forward ? cast * r.hidden + 2 * r.width : (4 + cast) * r.hidden + 2 * gate * r.width;
  }
  b.stream("expert casts", phase, r.rows * bytes, true);
}

Precision router_precision(const LayerShape& s) {
  return s.precision == Precision::Fp8 ? Precision::Bf16 : s.precision;
}

Exchange exchange_of(const Layer& layer, const Routed& r, Phase phase) {
  return {r, static_cast<double>(layer.experts.per_token), static_cast<double>(layer.experts.count),
          phase};
}

/// The dense work beside the experts: shared ones with their gate, and an MLP some families keep.
void beside_forward(Builder& b, const Model& model, const Layer& layer) {
  const auto h = static_cast<double>(model.hidden);
  const Experts& e = layer.experts;
  if (layer.mlp.width > 0) mlp_forward(b, h, layer.mlp, layer.mlp.width);
  if (e.shared_width == 0) return;
  mlp_forward(b, h, layer.mlp, e.shared_width);
  if (e.shared_gate) b.stream("shared gate", Phase::Forward, 6 * b.outside(h));
  b.stream("add shared", Phase::Forward, 6 * b.outside(h));
}

void beside_backward(Builder& b, const Model& model, const Layer& layer) {
  const auto h = static_cast<double>(model.hidden);
  const Experts& e = layer.experts;
  if (e.shared_width > 0) {
    if (e.shared_gate) b.stream("shared gate", Phase::Input, 8 * b.outside(h));
    mlp_backward(b, h, layer.mlp, e.shared_width);
  }
  if (layer.mlp.width > 0) mlp_backward(b, h, layer.mlp, layer.mlp.width);
  if (e.shared_width > 0 || layer.mlp.width > 0)
    b.stream("add gradients", Phase::Input, 6 * b.outside(h));
}

/// Puts `dense` right behind the first exchange of ops[from, …), which then runs beside it.
void place_beside(std::vector<Op>& ops, std::size_t from, const std::vector<Op>& dense,
                  bool overlap) {
  const auto exchange = std::find_if(
      ops.begin() + static_cast<std::ptrdiff_t>(from), ops.end(),
      [](const Op& op) { return op.kind == OpKind::Collective && op.axis == GroupAxis::Ep; });
  if (!overlap || exchange == ops.end()) {
    ops.insert(ops.end(), dense.begin(), dense.end());
    return;
  }
  exchange->beside = static_cast<int>(std::count_if(
      dense.begin(), dense.end(), [](const Op& op) { return op.kind != OpKind::Collective; }));
  ops.insert(exchange + 1, dense.begin(), dense.end());
}

}  // namespace

Routed routed(const Model& model, const Layer& layer, const LayerShape& s) {
  const Experts& e = layer.experts;
  const ExpertShape& x = s.experts;
  Routed r;
  r.tokens = s.tokens / (s.sequence_parallel ? s.tp : 1);
  r.routes = r.tokens * static_cast<double>(e.per_token) * x.load;
  // Ranks of a tensor group hold the same tokens under slice, different ones otherwise.
  r.rows = x.settings.dispatcher == Dispatcher::Slice ? r.routes / x.ep : r.routes * x.etp;
  r.experts = static_cast<double>(e.count) / x.ep;
  const int pad = x.settings.pad > 0              ? x.settings.pad
                  : s.precision == Precision::Fp8 ? kFp8Rows
                                                  : 1;
  r.per_expert = std::ceil(r.rows / r.experts / pad - 1e-9) * pad;
  r.hidden = static_cast<double>(model.hidden);
  r.width = static_cast<double>(e.width) / x.etp;
  return r;
}

void experts_forward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                     const LayerShape& s, bool to_last_input) {
  Builder b(ops, s);
  const Routed r = routed(model, layer, s);
  const auto count = static_cast<double>(layer.experts.count);
  const double gate = layer.mlp.gated ? 2 : 1;
  const DispatcherKind& dispatcher = dispatcher_kind(s.experts.settings.dispatcher);
  b.gemm("router", Phase::Forward, r.tokens, count, r.hidden, router_precision(s));
  b.stream("choose experts", Phase::Forward, kRouterBytes * r.tokens * count, true);
  std::vector<Op> dense;
  Builder beside(dense, s);
  beside_forward(beside, model, layer);
  const std::size_t begin = ops.size();
  dispatcher.to_experts(b, exchange_of(layer, r, Phase::Forward));
  place_beside(ops, begin, dense, s.experts.settings.shared_overlap);
  b.grouped("expert FC1", Phase::Forward, r.experts, r.per_expert, gate * r.width, r.hidden,
            s.precision);
  b.stream("expert activation", Phase::Forward,
           activation_bytes(b, layer.mlp, true) * r.rows * r.width,
           activation_elements(layer.mlp, r.rows, r.width));
  if (layer.experts.expert_bias)
    b.stream("expert bias", Phase::Forward, 4 * r.rows * (gate * r.width + r.hidden));
  expert_casts(b, r, gate, true);
  if (to_last_input) return;
  b.grouped("expert FC2", Phase::Forward, r.experts, r.per_expert, r.hidden, r.width, s.precision);
  dispatcher.from_experts(b, exchange_of(layer, r, Phase::Forward));
}

void experts_backward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                      const LayerShape& s) {
  Builder b(ops, s);
  const Routed r = routed(model, layer, s);
  const auto count = static_cast<double>(layer.experts.count);
  const double gate = layer.mlp.gated ? 2 : 1;
  const DispatcherKind& dispatcher = dispatcher_kind(s.experts.settings.dispatcher);
  std::vector<Op> dense;
  Builder beside(dense, s);
  beside_backward(beside, model, layer);
  const std::size_t begin = ops.size();
  dispatcher.to_experts(b, exchange_of(layer, r, Phase::Input));
  place_beside(ops, begin, dense, s.experts.settings.shared_overlap);
  b.grouped("expert FC2 dX", Phase::Input, r.experts, r.per_expert, r.width, r.hidden, s.precision);
  b.grouped("expert FC2 dW", Phase::Weight, r.experts, r.width, r.hidden, r.per_expert,
            s.precision);
  b.stream("expert activation", Phase::Input,
           activation_bytes(b, layer.mlp, false) * r.rows * r.width,
           activation_elements(layer.mlp, r.rows, r.width));
  if (layer.experts.expert_bias)
    b.stream("expert bias gradients", Phase::Input, 2 * r.rows * (gate * r.width + r.hidden));
  b.grouped("expert FC1 dX", Phase::Input, r.experts, r.per_expert, r.hidden, gate * r.width,
            s.precision);
  b.grouped("expert FC1 dW", Phase::Weight, r.experts, r.hidden, gate * r.width, r.per_expert,
            s.precision);
  expert_casts(b, r, gate, false);
  dispatcher.from_experts(b, exchange_of(layer, r, Phase::Input));
  b.stream("choose experts", Phase::Input, kRouterBytes * r.tokens * count, true);
  const Precision p = router_precision(s);
  b.gemm("router dX", Phase::Input, r.tokens, r.hidden, count, p);
  b.gemm("router dW", Phase::Weight, r.hidden, count, r.tokens, p);
  b.stream("add gradients", Phase::Input, 6 * b.outside(r.hidden));
}

}  // namespace paceline::models

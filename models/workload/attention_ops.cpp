// SPDX-License-Identifier: Apache-2.0
#include "models/workload/op_builder.hpp"

namespace paceline::models::detail {
namespace {

/// Share of the full square that the rows of the slice attend to: rows i see min(i, window) tokens.
double slice_fraction(const LayerShape& s, const Attention& a) {
  if (!a.causal) return (s.slice_end - s.slice_begin) / static_cast<double>(a.subsequences);
  const auto window = static_cast<double>(a.window);
  const auto up_to = [&](double end) {
    return end <= 0 ? 0 : end * end * causal_fraction(end * s.sequence, window);
  };
  return up_to(s.slice_end) - up_to(s.slice_begin);
}

/// Rows and columns of the scores of one head: the slice's tokens against all up to its end.
double score_rows(const LayerShape& s) { return s.sequence / s.cp * (s.slice_end - s.slice_begin); }
double score_columns(const LayerShape& s) { return s.sequence * s.slice_end; }

void flash_core(Builder& b, const Attention& a, Phase phase) {
  const LayerShape& s = b.shape();
  if (s.cp > 1 || s.packs != nullptr) return context_core(b, a, phase);
  const double fraction = slice_fraction(s, a);
  const double pairs = s.sequences * s.sequence * s.sequence * fraction;
  flash_kernel(b, a, phase,
               {pairs, static_cast<double>(a.heads) / b.t(), score_rows(s), score_rows(s)});
}

double score_count(const Builder& b, const Attention& a) {
  const LayerShape& s = b.shape();
  return s.sequences * score_rows(s) * score_columns(s) * static_cast<double>(a.heads) / b.t();
}

double softmax_bytes(const Builder& b, bool forward) {
  const Bytes2 bytes = b.shape().attention == "eager" ? kSoftmaxEager : kSoftmaxFused;
  double sum = forward ? bytes.forward : bytes.backward;
  if (b.stack().dropout) sum += forward ? kDropoutBytes * kDropoutCost : kDropoutBytes;
  return sum;
}

void score_core_forward(Builder& b, const Attention& a, Phase phase) {
  const LayerShape& s = b.shape();
  const double batch = s.sequences * static_cast<double>(a.heads) / b.t();
  const double rows = score_rows(s);
  const auto d = static_cast<double>(a.head_dim);
  b.batched("QK'", phase, batch, rows, score_columns(s), d);
  b.stream("softmax", phase, softmax_bytes(b, true) * score_count(b, a),
           {"softmax", batch * rows, score_columns(s), 0, 0});
  b.batched("PV", phase, batch, rows, static_cast<double>(a.value_dim), score_columns(s));
  b.stream("merge heads", phase, 4 * b.tokens() * widths(a, b.t()).v);
}

void score_core_backward(Builder& b, const Attention& a) {
  const LayerShape& s = b.shape();
  const double batch = s.sequences * static_cast<double>(a.heads) / b.t();
  const double rows = score_rows(s);
  const auto d = static_cast<double>(a.head_dim);
  const auto v = static_cast<double>(a.value_dim);
  b.stream("split heads", Phase::Input, 8 * b.tokens() * widths(a, b.t()).v);
  b.batched("dP", Phase::Input, batch, rows, score_columns(s), v);
  b.batched("dV", Phase::Input, batch, score_columns(s), v, rows);
  b.stream("softmax backward", Phase::Input, softmax_bytes(b, false) * score_count(b, a),
           {"softmax", batch * rows, score_columns(s), 0, 0});
  b.batched("dQ", Phase::Input, batch, rows, d, score_columns(s));
  b.batched("dK", Phase::Input, batch, score_columns(s), d, rows);
}

}  // namespace

void flash_kernel(Builder& b, const Attention& a, Phase phase, const FlashWork& work) {
  const LayerShape& s = b.shape();
  Op op;
  op.name = phase == Phase::Forward ? "attention" : "attention backward";
  op.kind = OpKind::Attention;
  op.kernel = s.attention.rfind("cudnn-", 0) == 0 ? "attention-cudnn" : "attention";
  op.phase = phase;
  op.precision = s.precision == Precision::Fp8 ? Precision::Bf16 : s.precision;
  // Forward: QK' and PV; backward: five products of the same size (Dao 2022, section 3).
  const double forward =
      2 * work.pairs * work.heads * static_cast<double>(a.head_dim + a.value_dim);
  op.flops = phase == Phase::Forward ? forward : 2.5 * forward;
  op.sequence = work.length;
  op.head_dim = static_cast<int>(a.head_dim);
  op.count = s.sequences;
  op.m = work.rows;
  op.n = score_columns(s);
  op.heads = work.heads;
  op.kv_heads = std::max(static_cast<double>(a.kv_heads) / b.t(), 1.0);
  b.push(op);
}

/// Kernels that store the scores: keys and values are gathered before them, or under `ring` pass
/// beside the first. Their gradients are scattered the same way.
void context_exchange(Builder& b, const Attention& a, Phase phase) {
  if (b.shape().cp == 1 || !stores_scores(b.shape().attention)) return;
  const Widths w = widths(a, b.t());
  const double per_token = 2 * (a.absorbed                        ? w.kv
                                : a.kind == AttentionKind::Latent ? w.q + w.v
                                                                  : 2 * w.kv);
  const double full = per_token * b.tokens() * b.shape().cp;
  const bool ring = b.shape().context.method->name != "all-gather";
  if (phase == Phase::Forward) {
    b.collective("gather KV", phase, CollectiveOp::AllGather, GroupAxis::Cp, full, ring ? 1 : 0);
  } else {
    // Keys and values travel again, their gradients travel with them.
    b.collective("gather KV", phase, CollectiveOp::AllGather, GroupAxis::Cp, full, ring ? 1 : 0);
    b.collective("reduce dKV", phase, CollectiveOp::ReduceScatter, GroupAxis::Cp, full,
                 ring ? 1 : 0);
  }
}

void core_forward(Builder& b, const Attention& a, Phase phase) {
  if (stores_scores(b.shape().attention)) {
    score_core_forward(b, a, phase);
  } else {
    flash_core(b, a, Phase::Forward);
  }
}

void core_backward(Builder& b, const Attention& a) {
  if (stores_scores(b.shape().attention)) {
    score_core_backward(b, a);
  } else {
    flash_core(b, a, Phase::Input);
  }
}

void projections_forward(Builder& b, const Model& model, const Attention& a) {
  const auto h = static_cast<double>(model.hidden);
  const Widths w = widths(a, b.t());
  const Precision p = b.shape().precision;
  if (a.kind == AttentionKind::Latent) {
    const auto heads = static_cast<double>(a.heads) / b.t();
    if (a.q_rank > 0) {
      b.gemm("Q down", Phase::Forward, b.tokens(), static_cast<double>(a.q_rank), h, p);
      b.stream("Q norm", Phase::Forward, 4 * b.tokens() * static_cast<double>(a.q_rank));
    }
    b.gemm("Q up", Phase::Forward, b.tokens(), w.q,
           a.q_rank > 0 ? static_cast<double>(a.q_rank) : h, p);
    b.gemm("KV down", Phase::Forward, b.tokens(), static_cast<double>(a.kv_rank + a.rope_dim), h,
           p);
    b.stream("KV norm", Phase::Forward, 4 * b.tokens() * static_cast<double>(a.kv_rank));
    if (a.absorbed) {
      b.batched("Q absorb", Phase::Forward, heads, b.tokens(), static_cast<double>(a.kv_rank),
                static_cast<double>(a.nope_dim));
      return;
    }
    b.gemm("KV up", Phase::Forward, b.tokens(),
           heads * static_cast<double>(a.nope_dim + a.value_dim), static_cast<double>(a.kv_rank),
           p);
    return;
  }
  b.gemm("QKV", Phase::Forward, b.tokens(), w.q * (a.output_gate ? 2 : 1) + 2 * w.kv, h, p);
  if (a.qkv_bias) b.stream("QKV bias", Phase::Forward, 4 * b.tokens() * (w.q + 2 * w.kv));
}

void projections_backward(Builder& b, const Model& model, const Attention& a) {
  const auto h = static_cast<double>(model.hidden);
  const Widths w = widths(a, b.t());
  const Precision p = b.shape().precision;
  if (a.kind == AttentionKind::Latent) {
    const auto heads = static_cast<double>(a.heads) / b.t();
    const double up = heads * static_cast<double>(a.nope_dim + a.value_dim);
    const auto kv = static_cast<double>(a.kv_rank);
    const auto q = static_cast<double>(a.q_rank);
    if (a.absorbed) {
      const auto nope = static_cast<double>(a.nope_dim);
      b.batched("Q absorb dX", Phase::Input, heads, b.tokens(), nope, kv);
      b.batched("Q absorb dW", Phase::Weight, heads, nope, kv, b.tokens());
    } else {
      b.gemm("KV up dX", Phase::Input, b.tokens(), kv, up, p);
      b.gemm("KV up dW", Phase::Weight, kv, up, b.tokens(), p);
    }
    b.gemm("Q up dX", Phase::Input, b.tokens(), q > 0 ? q : h, w.q, p);
    b.gemm("Q up dW", Phase::Weight, q > 0 ? q : h, w.q, b.tokens(), p);
    b.stream("latent norms", Phase::Input, 10 * b.tokens() * (q + kv));
    column_parallel_backward(b, "KV down dX", "KV down dW", h, kv + static_cast<double>(a.rope_dim),
                             p);
    if (q > 0) {
      b.gemm("Q down dX", Phase::Input, b.tokens(), h, q, p);
      b.gemm("Q down dW", Phase::Weight, h, q, b.tokens(), p);
    }
    return;
  }
  if (a.qkv_bias) {
    b.stream("QKV bias gradient", Phase::Input, 2 * b.tokens() * (w.q + 2 * w.kv));
  }
  column_parallel_backward(b, "QKV dX", "QKV dW", h, w.q * (a.output_gate ? 2 : 1) + 2 * w.kv, p);
}

void output_up(Builder& b, const Attention& a, Phase phase) {
  if (!a.absorbed) return;
  const auto heads = static_cast<double>(a.heads) / b.t();
  const auto latent = static_cast<double>(a.kv_rank), value = static_cast<double>(a.value_dim);
  if (phase == Phase::Forward) {
    b.batched("V up", phase, heads, b.tokens(), value, latent);
    return;
  }
  b.batched("V up dX", phase, heads, b.tokens(), latent, value);
  b.batched("V up dW", Phase::Weight, heads, latent, value, b.tokens());
}

void rotary(Builder& b, const Model& model, const Attention& a, Phase phase) {
  if (!model.rotary) return;
  const Widths w = widths(a, b.t());
  const Bytes2 kernel = b.stack().fused_rotary ? kRotary : kRotaryEager;
  const double bytes = phase == Phase::Forward ? kernel.forward : kernel.backward;
  const auto head_dim = static_cast<double>(a.head_dim);
  b.stream("rotary", phase, bytes * b.tokens() * (w.q + w.kv),
           {"rope", b.tokens(), head_dim, (w.q + w.kv) / std::max(head_dim, 1.0), 0});
}

}  // namespace paceline::models::detail

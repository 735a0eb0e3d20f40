// SPDX-License-Identifier: Apache-2.0
#include "models/workload/layer_ops.hpp"

#include <algorithm>

namespace paceline::models {
namespace {

// Bytes moved per element by elementwise kernels, 16-bit tensors: one read and one write of each
// tensor a fused kernel touches. Dropout also writes (reads) a one-byte mask, and its random
// numbers make it compute-bound: kDropoutCost times the bytes of the masked part.
constexpr double kDropoutCost = 1.35;
constexpr double kHalf = 2;  ///< all byte counts below are those of 16-bit activations

struct Bytes2 {
  double forward, backward;
};
constexpr Bytes2 kNormFused{4, 10};       // read x, write y | read dy, x; write dx; partial sums
constexpr Bytes2 kNormEager{64, 109};     // fp32 casts, square, mean, rsqrt, two products, ...
constexpr Bytes2 kResidual{6, 2};         // read x and r, write | gradient add of the branch
constexpr Bytes2 kResidualDropout{2, 4};  // around the dropout part, fused
constexpr Bytes2 kResidualDropoutEager{10, 8};
constexpr double kDropoutBytes = 5;  // read 2, write 2, mask 1
constexpr Bytes2 kGated{6, 10};      // two reads and a write | three reads, two writes
constexpr Bytes2 kPlain{4, 6};
constexpr double kUnfusedActivation = 1.9;  // squared ReLU as relu then pow: two round trips
constexpr Bytes2 kSoftmaxFused{4, 6};       // per score: scale, mask and softmax in one kernel
constexpr Bytes2 kSoftmaxEager{30, 26};     // scale, mask, fp32 cast, softmax, cast
constexpr Bytes2 kRotary{4, 4};
constexpr Bytes2 kRotaryEager{30, 30};  // fp32 casts, two products, rotated half, sum
constexpr double kLossForwardShare = 0.6;

/// Builds the list of one phase.
class Builder {
 public:
  Builder(std::vector<Op>& ops, const LayerShape& shape) : ops_(ops), s_(shape) {}

  void gemm(std::string_view name, Phase phase, double m, double n, double k, Precision p) {
    Op op;
    op.name = name;
    op.kind = OpKind::Gemm;
    op.phase = phase;
    op.precision = p;
    op.m = m;
    op.n = n;
    op.k = k;
    op.accumulates = phase == Phase::Weight && s_.stack->accumulation == Accumulation::Fused32;
    ops_.push_back(op);
  }
  void batched(std::string_view name, Phase phase, double count, double m, double n, double k) {
    Op op;
    op.name = name;
    op.kind = OpKind::BatchedGemm;
    op.phase = phase;
    op.precision = s_.precision == Precision::Fp8 ? Precision::Bf16 : s_.precision;
    op.m = m;
    op.n = n;
    op.k = k;
    op.count = count;
    ops_.push_back(op);
  }
  void stream(std::string_view name, Phase phase, double bytes, bool exact = false) {
    if (bytes <= 0) return;
    Op op;
    op.exact = exact;
    op.name = name;
    op.phase = phase;
    op.bytes = exact ? bytes : bytes * s_.element / kHalf;
    ops_.push_back(op);
  }
  void collective(std::string_view name, Phase phase, CollectiveOp kind, GroupAxis axis,
                  double bytes, int beside) {
    Op op;
    op.name = name;
    op.kind = OpKind::Collective;
    op.phase = phase;
    op.collective = kind;
    op.axis = axis;
    op.bytes = bytes * s_.element / kHalf;
    op.beside = beside;
    ops_.push_back(op);
  }
  void push(const Op& op) { ops_.push_back(op); }

  const LayerShape& shape() const { return s_; }
  const Stack& stack() const { return *s_.stack; }
  double tokens() const { return s_.tokens; }
  double t() const { return s_.tp; }
  /// Elements of a full-width tensor that a rank processes between the tp regions.
  double outside(double width) const {
    return s_.tokens * width / (s_.sequence_parallel ? s_.tp : 1);
  }

 private:
  std::vector<Op>& ops_;
  const LayerShape& s_;
};

bool bulk(const Builder& b) { return b.stack().tp_overlap == TpOverlap::Bulk; }

/// Into a column-parallel GEMM: gathers the sequence shards (nothing to do without them).
void enter_forward(Builder& b, double hidden, std::string_view name) {
  if (b.shape().tp == 1 || !b.shape().sequence_parallel) return;
  b.collective(name, Phase::Forward, CollectiveOp::AllGather, GroupAxis::Tp,
               2 * b.tokens() * hidden, bulk(b) ? 1 : 0);
}

/// Out of a row-parallel GEMM. With bulk overlap the reduction is pipelined with the GEMM that
/// produces it, hence stands before it in the list.
void leave_forward(Builder& b, double hidden, std::string_view name, int beside) {
  if (b.shape().tp == 1) return;
  b.collective(name, Phase::Forward,
               b.shape().sequence_parallel ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
               GroupAxis::Tp, 2 * b.tokens() * hidden, beside);
}

void row_parallel_forward(Builder& b, std::string_view name, double hidden, double k, Precision p) {
  const bool overlapped = bulk(b) && b.shape().sequence_parallel;
  if (overlapped) leave_forward(b, hidden, "reduce", 1);
  b.gemm(name, Phase::Forward, b.tokens(), hidden, k, p);
  if (!overlapped) leave_forward(b, hidden, "reduce", 0);
}

/// Backward of a row-parallel GEMM Y = X W: dX = dY W', dW = X' dY.
void row_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                           double hidden, double k, Precision p) {
  if (b.shape().tp > 1 && b.shape().sequence_parallel) {
    b.collective("gather dY", Phase::Input, CollectiveOp::AllGather, GroupAxis::Tp,
                 2 * b.tokens() * hidden, bulk(b) ? 1 : 0);
  }
  b.gemm(input, Phase::Input, b.tokens(), k, hidden, p);
  b.gemm(weight, Phase::Weight, k, hidden, b.tokens(), p);
}

/// Backward of a column-parallel GEMM: dX needs a reduction over tp, which hides behind dW where
/// the stack overlaps; with sequence parallelism X is gathered again for dW (beside dX).
void column_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                              double hidden, double n, Precision p) {
  const bool tp = b.shape().tp > 1;
  const bool sp = b.shape().sequence_parallel;
  const bool overlap = b.stack().tp_overlap != TpOverlap::None;
  if (tp && sp) {
    b.collective("gather X", Phase::Input, CollectiveOp::AllGather, GroupAxis::Tp,
                 2 * b.tokens() * hidden, overlap ? 1 : 0);
  }
  b.gemm(input, Phase::Input, b.tokens(), hidden, n, p);
  if (tp) {
    b.collective("reduce dX", Phase::Input,
                 sp ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce, GroupAxis::Tp,
                 2 * b.tokens() * hidden, overlap ? 1 : 0);
  }
  b.gemm(weight, Phase::Weight, hidden, n, b.tokens(), p);
}

/// Bytes per logit, forward and backward together (see Loss).
double loss_bytes(Loss loss) {
  switch (loss) {
    case Loss::VocabParallel:
      return 48;
    case Loss::Torch:
      return 30;
    case Loss::Fused:
      return 24;
  }
  return 0;
}

double norm_bytes(const Builder& b, bool forward) {
  const Bytes2 bytes = b.stack().norm == NormKernel::Eager ? kNormEager : kNormFused;
  return forward ? bytes.forward : bytes.backward;
}

double residual_bytes(const Builder& b, bool forward) {
  if (!b.stack().dropout) return forward ? kResidual.forward : kResidual.backward;
  const Bytes2 rest = b.stack().fused_bias_dropout ? kResidualDropout : kResidualDropoutEager;
  return forward ? rest.forward + kDropoutBytes * kDropoutCost : rest.backward + kDropoutBytes;
}

struct Widths {
  double q, kv, v;  ///< per tp rank
};
Widths widths(const Attention& a, double t) {
  const double kv_heads = std::max(static_cast<double>(a.kv_heads) / t, 1.0);
  return {static_cast<double>(a.heads * a.head_dim) / t, kv_heads * static_cast<double>(a.head_dim),
          static_cast<double>(a.heads * a.value_dim) / t};
}

/// Ring attention passes keys and values beside the attention of the blocks at hand; gathered
/// context exposes one all-gather (its gradient: a reduce-scatter).
void context_exchange(Builder& b, const Attention& a, Phase phase) {
  if (b.shape().cp == 1) return;
  const Widths w = widths(a, b.t());
  const double per_token = 2 * (a.kind == AttentionKind::Latent ? w.q + w.v : 2 * w.kv);
  const double full = per_token * b.tokens() * b.shape().cp;
  const bool ring = b.shape().context == ContextParallel::Ring;
  if (phase == Phase::Forward) {
    b.collective("gather KV", phase, CollectiveOp::AllGather, GroupAxis::Cp, full, ring ? 1 : 0);
  } else {
    // Keys and values travel again, their gradients travel with them.
    b.collective("gather KV", phase, CollectiveOp::AllGather, GroupAxis::Cp, full, ring ? 1 : 0);
    b.collective("reduce dKV", phase, CollectiveOp::ReduceScatter, GroupAxis::Cp, full,
                 ring ? 1 : 0);
  }
}

void flash_core(Builder& b, const Attention& a, Phase phase) {
  const LayerShape& s = b.shape();
  const double fraction = causal_fraction(s.sequence, static_cast<double>(a.window));
  const double heads = static_cast<double>(a.heads) / b.t();
  const double pairs = s.sequences * s.sequence * s.sequence * fraction / s.cp;
  Op op;
  op.name = phase == Phase::Forward ? "attention" : "attention backward";
  op.kind = OpKind::Attention;
  op.phase = phase;
  op.precision = s.precision == Precision::Fp8 ? Precision::Bf16 : s.precision;
  // Forward: QK' and PV; backward: five products of the same size (Dao 2022, section 3).
  const double forward = 2 * pairs * heads * static_cast<double>(a.head_dim + a.value_dim);
  op.flops = phase == Phase::Forward ? forward : 2.5 * forward;
  op.sequence = s.sequence / s.cp;
  op.head_dim = static_cast<int>(a.head_dim);
  b.push(op);
}

double score_count(const Builder& b, const Attention& a) {
  const LayerShape& s = b.shape();
  return s.sequences * s.sequence * s.sequence / s.cp * static_cast<double>(a.heads) / b.t();
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
  const double rows = s.sequence / s.cp;
  const auto d = static_cast<double>(a.head_dim);
  b.batched("QK'", phase, batch, rows, s.sequence, d);
  b.stream("softmax", phase, softmax_bytes(b, true) * score_count(b, a));
  b.batched("PV", phase, batch, rows, static_cast<double>(a.value_dim), s.sequence);
  b.stream("merge heads", phase, 4 * b.tokens() * widths(a, b.t()).v);
}

void score_core_backward(Builder& b, const Attention& a) {
  const LayerShape& s = b.shape();
  const double batch = s.sequences * static_cast<double>(a.heads) / b.t();
  const double rows = s.sequence / s.cp;
  const auto d = static_cast<double>(a.head_dim);
  const auto v = static_cast<double>(a.value_dim);
  b.stream("split heads", Phase::Input, 8 * b.tokens() * widths(a, b.t()).v);
  b.batched("dP", Phase::Input, batch, rows, s.sequence, v);
  b.batched("dV", Phase::Input, batch, s.sequence, v, rows);
  b.stream("softmax backward", Phase::Input, softmax_bytes(b, false) * score_count(b, a));
  b.batched("dQ", Phase::Input, batch, rows, d, s.sequence);
  b.batched("dK", Phase::Input, batch, s.sequence, d, rows);
}

void core_forward(Builder& b, const Attention& a) {
  if (stores_scores(b.shape().attention)) {
    score_core_forward(b, a, Phase::Forward);
  } else {
    flash_core(b, a, Phase::Forward);
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
    b.gemm("KV up dX", Phase::Input, b.tokens(), kv, up, p);
    b.gemm("KV up dW", Phase::Weight, kv, up, b.tokens(), p);
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

void rotary(Builder& b, const Model& model, const Attention& a, Phase phase) {
  if (!model.rotary) return;
  const Widths w = widths(a, b.t());
  const Bytes2 kernel = b.stack().fused_rotary ? kRotary : kRotaryEager;
  const double bytes = phase == Phase::Forward ? kernel.forward : kernel.backward;
  b.stream("rotary", phase, bytes * b.tokens() * (w.q + w.kv));
}

double activation_bytes(const Builder& b, const Mlp& mlp, bool forward) {
  const Bytes2 bytes = mlp.gated ? kGated : kPlain;
  double sum = forward ? bytes.forward : bytes.backward;
  if (mlp.activation == Activation::SquaredRelu || !b.stack().fused_activation) {
    sum *= kUnfusedActivation;
  }
  return sum;
}

/// Casts and transposes around FP8 GEMMs: inputs are quantised where they are produced, gradients
/// too, and what was gathered over tp is transposed again for the weight gradient.
double fp8_cast_bytes(const Builder& b, const Model& model, const Layer& layer, bool forward) {
  if (b.shape().precision != Precision::Fp8) return 0;
  const Widths w = widths(layer.attention, b.t());
  const auto h = static_cast<double>(model.hidden);
  const double ffn = static_cast<double>(layer.mlp.width) / b.t();
  const double gate = layer.mlp.gated ? 2 : 1;
  if (forward) return b.tokens() * (4 * w.v + 4 * h / b.t() + 2 * ffn);
  const double gathered = b.shape().tp > 1 ? 8 * h : 0;
  return b.tokens() * (4 * (w.q + 2 * w.kv) + 8 * h / b.t() + gathered + 2 * gate * ffn);
}

void accumulate(Builder& b, const Model& model, const Layer& layer) {
  double per_parameter = 0;
  switch (b.stack().accumulation) {
    case Accumulation::Autograd16:
      per_parameter = 6;
      break;
    case Accumulation::MainGrad32:
    case Accumulation::Separate32:
      per_parameter = 10;
      break;
    case Accumulation::Fused32:
      return;
  }
  b.stream("accumulate", Phase::Weight,
           per_parameter * static_cast<double>(layer_parameters(model, layer)) / b.t(), true);
}

}  // namespace

double activation_element(Precision precision) { return precision == Precision::Fp32 ? 4 : kHalf; }

LayerShape layer_shape(const Scenario& s) {
  LayerShape shape;
  shape.tokens =
      static_cast<double>(s.batch.micro) * static_cast<double>(s.batch.sequence) / s.parallel.cp;
  shape.sequence = static_cast<double>(s.batch.sequence);
  shape.sequences = static_cast<double>(s.batch.micro);
  shape.tp = s.parallel.tp;
  shape.cp = s.parallel.cp;
  shape.sequence_parallel = s.parallel.sequence_parallel;
  shape.context = s.parallel.context;
  shape.precision = s.precision;
  shape.element = activation_element(s.precision);
  shape.attention = s.attention;
  shape.stack = &s.stack;
  return shape;
}

bool stores_scores(std::string_view attention) {
  return attention == "eager" || attention == "megatron-fused";
}

double causal_fraction(double sequence, double window) {
  if (window <= 0 || window >= sequence) return 0.5;
  // Row i sees min(i, window) tokens: the triangle up to the window, then a band.
  return (window * sequence - 0.5 * window * window) / (sequence * sequence);
}

void append_forward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                    const LayerShape& shape, bool to_last_input) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const Widths w = widths(layer.attention, b.t());
  const double ffn = static_cast<double>(layer.mlp.width) / b.t();
  const double gate = layer.mlp.gated ? 2 : 1;
  b.stream("norm 1", Phase::Forward, norm_bytes(b, true) * b.outside(h));
  enter_forward(b, h, "gather X");
  projections_forward(b, model, layer.attention);
  rotary(b, model, layer.attention, Phase::Forward);
  context_exchange(b, layer.attention, Phase::Forward);
  core_forward(b, layer.attention);
  row_parallel_forward(b, "projection", h, w.v, shape.precision);
  b.stream("residual 1", Phase::Forward, residual_bytes(b, true) * b.outside(h));
  b.stream("norm 2", Phase::Forward, norm_bytes(b, true) * b.outside(h));
  enter_forward(b, h, "gather X");
  b.gemm("FC1", Phase::Forward, shape.tokens, gate * ffn, h, shape.precision);
  b.stream("activation", Phase::Forward, activation_bytes(b, layer.mlp, true) * shape.tokens * ffn);
  if (to_last_input) return;
  row_parallel_forward(b, "FC2", h, ffn, shape.precision);
  b.stream("residual 2", Phase::Forward, residual_bytes(b, true) * b.outside(h));
  b.stream("fp8 casts", Phase::Forward, fp8_cast_bytes(b, model, layer, true), true);
}

void append_backward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                     const LayerShape& shape) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const Widths w = widths(layer.attention, b.t());
  const double ffn = static_cast<double>(layer.mlp.width) / b.t();
  const double gate = layer.mlp.gated ? 2 : 1;
  b.stream("residual 2", Phase::Input, residual_bytes(b, false) * b.outside(h));
  row_parallel_backward(b, "FC2 dX", "FC2 dW", h, ffn, shape.precision);
  b.stream("activation", Phase::Input, activation_bytes(b, layer.mlp, false) * shape.tokens * ffn);
  if (layer.mlp.bias) b.stream("bias gradients", Phase::Input, 2 * shape.tokens * (ffn * gate));
  column_parallel_backward(b, "FC1 dX", "FC1 dW", h, gate * ffn, shape.precision);
  b.stream("norm 2", Phase::Input, norm_bytes(b, false) * b.outside(h));
  b.stream("residual 1", Phase::Input, residual_bytes(b, false) * b.outside(h));
  row_parallel_backward(b, "projection dX", "projection dW", h, w.v, shape.precision);
  context_exchange(b, layer.attention, Phase::Input);
  if (stores_scores(shape.attention)) {
    score_core_backward(b, layer.attention);
  } else {
    flash_core(b, layer.attention, Phase::Input);
  }
  rotary(b, model, layer.attention, Phase::Input);
  projections_backward(b, model, layer.attention);
  b.stream("norm 1", Phase::Input, norm_bytes(b, false) * b.outside(h));
  b.stream("fp8 casts", Phase::Input, fp8_cast_bytes(b, model, layer, false), true);
  accumulate(b, model, layer);
}

void append_core_recompute(std::vector<Op>& ops, const Layer& layer, const LayerShape& shape) {
  if (!stores_scores(shape.attention)) return;  // flash kernels recompute the scores themselves
  Builder b(ops, shape);
  score_core_forward(b, layer.attention, Phase::Input);
}

void append_embedding(std::vector<Op>& ops, const Model& model, const LayerShape& shape,
                      Phase phase) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const bool forward = phase == Phase::Forward;
  b.stream("embedding", phase, (forward ? 4 : 5) * shape.tokens * h);
  if (forward && shape.tp > 1) {
    b.collective("reduce", phase,
                 shape.sequence_parallel ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
                 GroupAxis::Tp, 2 * shape.tokens * h, 0);
  }
  if (shape.stack->dropout) {
    b.stream("embedding dropout", phase,
             kDropoutBytes * (forward ? kDropoutCost : 1) * b.outside(h));
  }
}

void append_head(std::vector<Op>& ops, const Model& model, const LayerShape& shape, Phase phase) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const double vocab = static_cast<double>(model.vocab) / b.t();
  const double logits =
      shape.tokens * (shape.stack->sharded_logits ? vocab : static_cast<double>(model.vocab));
  const double loss = logits * loss_bytes(shape.stack->loss);
  const Precision p = shape.precision == Precision::Fp8 ? Precision::Bf16 : shape.precision;
  if (phase == Phase::Forward) {
    b.stream("final norm", phase, norm_bytes(b, true) * b.outside(h));
    enter_forward(b, h, "gather X");
    b.gemm("LM head", phase, shape.tokens, vocab, h, p);
    if (shape.tp > 1 && !shape.stack->sharded_logits) {
      b.collective("gather logits", phase, CollectiveOp::AllGather, GroupAxis::Tp,
                   2 * shape.tokens * static_cast<double>(model.vocab), 0);
    }
    b.stream("loss", phase, kLossForwardShare * loss, true);
    return;
  }
  b.stream("loss backward", phase, (1 - kLossForwardShare) * loss, true);
  column_parallel_backward(b, "LM head dX", "LM head dW", h, vocab, p);
  b.stream("final norm", phase, norm_bytes(b, false) * b.outside(h));
}

double matrix_flops(const std::vector<Op>& ops) {
  double sum = 0;
  for (const Op& op : ops) {
    if (op.kind == OpKind::Gemm || op.kind == OpKind::BatchedGemm) {
      sum += 2 * op.m * op.n * op.k * op.count;
    } else if (op.kind == OpKind::Attention) {
      sum += op.flops;
    }
  }
  return sum;
}

}  // namespace paceline::models

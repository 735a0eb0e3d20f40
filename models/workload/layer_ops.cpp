// SPDX-License-Identifier: Apache-2.0
#include "models/workload/layer_ops.hpp"

#include <cmath>

#include "models/workload/moe_ops.hpp"
#include "models/workload/op_builder.hpp"

namespace paceline::models {
namespace {

using namespace detail;

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

std::string_view norm_kernel(const Model& model) {
  return model.norm == NormKind::Rms ? "rmsnorm" : "layernorm";
}

double residual_bytes(const Builder& b, bool forward) {
  if (!b.stack().dropout) return forward ? kResidual.forward : kResidual.backward;
  const Bytes2 rest = b.stack().fused_bias_dropout ? kResidualDropout : kResidualDropoutEager;
  return forward ? rest.forward + kDropoutBytes * kDropoutCost : rest.backward + kDropoutBytes;
}

/// Casts and transposes around FP8 GEMMs: inputs are quantised where they are produced, gradients
/// too, and what was gathered over tp is transposed again for the weight gradient.
double fp8_cast_bytes(const Builder& b, const Model& model, const Layer& layer, bool forward) {
  if (b.shape().precision != Precision::Fp8) return 0;
  const Widths w = widths(layer.attention, b.t());
  const auto h = static_cast<double>(model.hidden);
  const std::int64_t width =
      layer.mlp.width + (layer.experts.count > 0 ? layer.experts.shared_width : 0);
  const double ffn = static_cast<double>(width) / b.t();
  const double gate = layer.mlp.gated ? 2 : 1;
  if (forward) return b.tokens() * (4 * w.v + 4 * h / b.t() + 2 * ffn);
  const double gathered = b.shape().tp > 1 ? 8 * h : 0;
  return b.tokens() * (4 * (w.q + 2 * w.kv) + 8 * h / b.t() + gathered + 2 * gate * ffn);
}

/// Not of the layers of a projector, which are MLPs.
bool mixes_tokens(const Layer& layer) {
  return layer.attention.kind != AttentionKind::Heads || layer.attention.heads > 0;
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
  b.stream(
      "accumulate", Phase::Weight,
      per_parameter * held_parameters(model, layer, b.shape().tp, b.shape().experts.ranks()).sum(),
      true);
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
  shape.experts.ep = s.parallel.ep;
  shape.experts.etp = s.parallel.etp;
  shape.experts.settings = s.moe;
  shape.loss_chunks = s.loss_chunks;
  return shape;
}

bool stores_scores(std::string_view attention) {
  return attention == "eager" || attention == "megatron-fused";
}

Mask mask_of(const Attention& a) { return {a.causal ? a.window : 0, a.causal, a.subsequences}; }

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
  const Elements norm = b.rows_outside(norm_kernel(model), h);
  const Elements sum = b.rows_outside("triad", h);
  if (layer.joins_skip)
    b.gemm("skip join", Phase::Forward, b.outside(1), h, 2 * h, shape.precision);
  if (mixes_tokens(layer)) {
    b.stream("norm 1", Phase::Forward, norm_bytes(b, true) * b.outside(h), norm);
    enter_forward(b, h, "gather X");
    projections_forward(b, model, layer.attention);
    rotary(b, model, layer.attention, Phase::Forward);
    const Attention core = core_of(layer.attention);
    context_exchange(b, core, Phase::Forward);
    core_forward(b, core, Phase::Forward);
    output_up(b, layer.attention, Phase::Forward);
    row_parallel_forward(b, "projection", h, w.v, shape.precision);
    b.stream("residual 1", Phase::Forward, residual_bytes(b, true) * b.outside(h), sum);
  }
  b.stream("norm 2", Phase::Forward, norm_bytes(b, true) * b.outside(h), norm);
  if (layer.experts.count > 0) {
    experts_forward(ops, model, layer, shape, to_last_input);
  } else {
    mlp_forward(b, h, layer.mlp, layer.mlp.width, to_last_input);
  }
  if (to_last_input) return;
  b.stream("residual 2", Phase::Forward, residual_bytes(b, true) * b.outside(h), sum);
  b.stream("fp8 casts", Phase::Forward, fp8_cast_bytes(b, model, layer, true), true);
}

void append_backward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                     const LayerShape& shape) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const Widths w = widths(layer.attention, b.t());
  const Elements norm = b.rows_outside(norm_kernel(model), h);
  const Elements sum = b.rows_outside("triad", h);
  b.stream("residual 2", Phase::Input, residual_bytes(b, false) * b.outside(h), sum);
  if (layer.experts.count > 0) {
    experts_backward(ops, model, layer, shape);
  } else {
    mlp_backward(b, h, layer.mlp, layer.mlp.width);
  }
  b.stream("norm 2", Phase::Input, norm_bytes(b, false) * b.outside(h), norm);
  if (mixes_tokens(layer)) {
    b.stream("residual 1", Phase::Input, residual_bytes(b, false) * b.outside(h), sum);
    row_parallel_backward(b, "projection dX", "projection dW", h, w.v, shape.precision);
    const Attention core = core_of(layer.attention);
    output_up(b, layer.attention, Phase::Input);
    context_exchange(b, core, Phase::Input);
    core_backward(b, core);
    rotary(b, model, layer.attention, Phase::Input);
    projections_backward(b, model, layer.attention);
    b.stream("norm 1", Phase::Input, norm_bytes(b, false) * b.outside(h), norm);
  }
  if (layer.joins_skip) {
    b.gemm("skip join dX", Phase::Input, b.outside(1), 2 * h, h, shape.precision);
    b.gemm("skip join dW", Phase::Weight, 2 * h, h, b.outside(1), shape.precision);
    b.stream("add skip gradients", Phase::Input, 6 * b.outside(h));
  }
  b.stream("fp8 casts", Phase::Input, fp8_cast_bytes(b, model, layer, false), true);
  accumulate(b, model, layer);
}

void append_core_recompute(std::vector<Op>& ops, const Layer& layer, const LayerShape& shape) {
  if (!mixes_tokens(layer)) return;
  if (!stores_scores(shape.attention)) return;  // flash kernels recompute the scores themselves
  Builder b(ops, shape);
  core_forward(b, core_of(layer.attention), Phase::Input);
}

void append_part_recompute(std::vector<Op>& ops, const Model& model, const Layer& layer,
                           const LayerShape& shape, const RecomputeParts& parts) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  if (parts.norms) {
    for (int i = 0; i < (mixes_tokens(layer) ? 2 : 1); ++i)
      b.stream("norm again", Phase::Input, norm_bytes(b, true) * b.outside(h),
               b.rows_outside(norm_kernel(model), h));
  }
  if (!parts.activation) return;
  const auto again = [&](double rows, double width) {
    b.stream("activation again", Phase::Input, activation_bytes(b, layer.mlp, true) * rows * width,
             activation_elements(layer.mlp, rows, width));
  };
  const Experts& e = layer.experts;
  if (layer.mlp.width > 0) again(b.tokens(), static_cast<double>(layer.mlp.width) / b.t());
  if (e.count == 0) return;
  if (e.shared_width > 0) again(b.tokens(), static_cast<double>(e.shared_width) / b.t());
  const Routed r = routed(model, layer, shape);
  again(r.rows, r.width);
}

void append_core(std::vector<Op>& ops, const Layer& layer, const LayerShape& shape, Phase phase) {
  Builder b(ops, shape);
  const Attention core = core_of(layer.attention);
  context_exchange(b, core, phase);
  if (phase == Phase::Forward) {
    core_forward(b, core, phase);
  } else {
    core_backward(b, core);
  }
}

double context_buffer_bytes(const Layer& layer, const LayerShape& shape) {
  if (shape.cp == 1 || !mixes_tokens(layer) || stores_scores(shape.attention)) return 0;
  std::vector<Op> ops;
  Builder b(ops, shape);
  return context_buffer(b, core_of(layer.attention)) * shape.element / kHalf;
}

void append_embedding(std::vector<Op>& ops, const Model& model, const LayerShape& shape,
                      Phase phase) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const bool forward = phase == Phase::Forward;
  b.stream("embedding", phase, (forward ? 4 : 5) * shape.tokens * h,
           {"embedding", shape.tokens, h, 0, static_cast<double>(model.vocab) / b.t()});
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

namespace {

/// Head and loss over pieces of the tokens, in the forward: logits, loss and both gradients of one
/// piece before the next. Weight gradients of later pieces are added to those of the first: read
/// twice and written, 16 bits. The backward only scales what is there.
void append_head_in_chunks(Builder& b, double h, double vocab, double loss_bytes, Precision p) {
  const LayerShape& s = b.shape();
  const double rows = s.tokens / s.loss_chunks, loss = loss_bytes / s.loss_chunks;
  const Elements cross_entropy{"cross-entropy", rows, vocab, 0, 0};
  for (int i = 0; i < s.loss_chunks; ++i) {
    b.gemm("LM head", Phase::Forward, rows, vocab, h, p);
    if (s.tp > 1 && !b.stack().sharded_logits)
      b.collective("gather logits", Phase::Forward, CollectiveOp::AllGather, GroupAxis::Tp,
                   2 * rows * vocab * s.tp, 0);
    b.stream("loss", Phase::Forward, loss, cross_entropy, true);
    b.gemm("LM head dX", Phase::Input, rows, h, vocab, p);
    b.gemm("LM head dW", Phase::Weight, h, vocab, rows, p);
    if (i > 0 && b.stack().accumulation != Accumulation::Fused32)
      b.stream("add head gradients", Phase::Weight, 6 * h * vocab, true);
  }
  if (s.tp == 1) return;
  b.collective("reduce dX", Phase::Forward,
               s.sequence_parallel ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
               GroupAxis::Tp, 2 * s.tokens * h, 0);
}

}  // namespace

void append_head(std::vector<Op>& ops, const Model& model, std::int64_t vocabulary,
                 const LayerShape& shape, Phase phase) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  // Frameworks pad the vocabulary so that the product stays on the tensor cores.
  const double vocab = 8 * std::ceil(static_cast<double>(vocabulary) / b.t() / 8);
  const double logits =
      shape.tokens * (shape.stack->sharded_logits ? vocab : static_cast<double>(vocabulary));
  const double loss = logits * loss_bytes(shape.stack->loss);
  const Precision p = shape.precision == Precision::Fp8 ? Precision::Bf16 : shape.precision;
  const Elements norm = b.rows_outside(norm_kernel(model), h);
  const Elements cross_entropy{"cross-entropy", shape.tokens, logits / shape.tokens, 0, 0};
  if (phase == Phase::Forward) {
    b.stream("final norm", phase, norm_bytes(b, true) * b.outside(h), norm);
    enter_forward(b, h, "gather X");
    if (shape.loss_chunks > 1) return append_head_in_chunks(b, h, vocab, loss, p);
    b.gemm("LM head", phase, shape.tokens, vocab, h, p);
    if (shape.tp > 1 && !shape.stack->sharded_logits) {
      b.collective("gather logits", phase, CollectiveOp::AllGather, GroupAxis::Tp,
                   2 * shape.tokens * static_cast<double>(vocabulary), 0);
    }
    b.stream("loss", phase, kLossForwardShare * loss, cross_entropy, true);
    return;
  }
  if (shape.loss_chunks > 1) {
    b.stream("scale gradients", phase, 4 * b.outside(h), b.rows_outside("triad", h));
    b.stream("final norm", phase, norm_bytes(b, false) * b.outside(h), norm);
    return;
  }
  b.stream("loss backward", phase, (1 - kLossForwardShare) * loss, cross_entropy, true);
  column_parallel_backward(b, "LM head dX", "LM head dW", h, vocab, p);
  b.stream("final norm", phase, norm_bytes(b, false) * b.outside(h), norm);
}

void append_prediction(std::vector<Op>& ops, const Model& model, const LayerShape& shape,
                       Phase phase) {
  Builder b(ops, shape);
  const auto h = static_cast<double>(model.hidden);
  const bool forward = phase == Phase::Forward;
  const Elements norm = b.rows_outside(norm_kernel(model), h);
  if (!forward) append_head(ops, model, model.vocab, shape, phase);
  for (int i = 0; i < 2; ++i)
    b.stream("prediction norm", phase, norm_bytes(b, forward) * b.outside(h), norm);
  enter_forward(b, 2 * h, "gather X");
  if (forward) {
    b.gemm("prediction join", phase, b.tokens(), h / b.t(), 2 * h, shape.precision);
    append_head(ops, model, model.vocab, shape, phase);
  } else {
    column_parallel_backward(b, "prediction join dX", "prediction join dW", 2 * h, h / b.t(),
                             shape.precision);
  }
}

double matrix_flops(const std::vector<Op>& ops) {
  double sum = 0;
  for (const Op& op : ops) {
    if (op.kind == OpKind::Gemm || op.kind == OpKind::BatchedGemm ||
        op.kind == OpKind::GroupedGemm) {
      sum += 2 * op.m * op.n * op.k * op.count;
    } else if (op.kind == OpKind::Attention) {
      sum += op.flops;
    }
  }
  return sum;
}

}  // namespace paceline::models

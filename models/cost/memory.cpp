// SPDX-License-Identifier: Apache-2.0
#include "models/cost/memory.hpp"

#include <algorithm>

#include "models/workload/expert_load.hpp"
#include "models/workload/moe_ops.hpp"

namespace paceline::models {
namespace {

/// Layers of unsharded weights alive at once under FSDP: the one computed and the one prefetched.
constexpr double kGatheredLayers = 2;

/// What is dealt over the ranks that hold the same: `bytes` of every parameter.
double dealt(const HeldParameters& held, double bytes, const DataRanks& over) {
  const double dense = held.dense * bytes / over.dense;
  return held.experts > 0 ? dense + held.experts * bytes / over.experts : dense;
}
constexpr DataRanks kWhole{};

double matrix_parameters(const Model& model, const Layer& layer) {
  const Attention& a = layer.attention;
  const auto h = static_cast<double>(model.hidden);
  const auto heads = static_cast<double>(a.heads);
  const double gate = layer.mlp.gated ? 2 : 1;
  const double width = static_cast<double>(layer.mlp.width + layer.experts.shared_width +
                                           layer.experts.count * layer.experts.width);
  const double mlp = (gate + 1) * h * width;
  const double q = heads * static_cast<double>(a.head_dim);
  const double v = heads * static_cast<double>(a.value_dim);
  if (a.kind == AttentionKind::Latent) {
    const auto qr = static_cast<double>(a.q_rank);
    const auto kr = static_cast<double>(a.kv_rank);
    const double queries = qr > 0 ? h * qr + qr * q : h * q;
    return mlp + queries + h * (kr + static_cast<double>(a.rope_dim)) +
           kr * heads * static_cast<double>(a.nope_dim + a.value_dim) + v * h;
  }
  const double kv = static_cast<double>(a.kv_heads * a.head_dim);
  return mlp + h * (q + 2 * kv) + v * h + (layer.joins_skip ? 2 * h * h : 0);
}

/// Largest weight of a layer on a rank: its gradient exists in a buffer of its own before it joins
/// the accumulated one.
double largest_matrix(const Scenario& s, const Layer& layer) {
  if (layer.experts.count > 0) {  // each expert's weights are matrices of their own
    return static_cast<double>(s.model.hidden * layer.experts.width) * (layer.mlp.gated ? 2 : 1) /
           s.parallel.etp;
  }
  return static_cast<double>(s.model.hidden) * static_cast<double>(layer.mlp.width) *
         (layer.mlp.gated ? 2 : 1) / s.parallel.tp;
}

/// Multi-token-prediction layers run on the last stage.
int prediction_layers(const Scenario& s, const Stage& stage) {
  return stage.head ? s.model.prediction_layers : 0;
}

/// Calls f with every layer of the stage, those of multi-token prediction last.
template <class F>
void each_layer(const Scenario& s, const Stage& stage, const F& f) {
  for (int i = 0; i < stage.layers; ++i) f(layer_at(s.model, stage, i), i);
  for (int i = 0; i < prediction_layers(s, stage); ++i) f(last_layer(s.model), stage.layers + i);
}

double stage_activation(const Scenario& s, const Stage& stage) {
  double sum = 0;
  each_layer(s, stage, [&](const Layer& layer, int i) {
    sum += recomputes(s, i) ? checkpoint_bytes(s) : activation_bytes(s, layer);
  });
  // Of a prediction layer also the two inputs that it joins.
  return sum + 2 * prediction_layers(s, stage) * checkpoint_bytes(s);
}

}  // namespace

StateBytes state_bytes(const Scenario& s) {
  StateBytes bytes{};
  bytes.weight = s.precision == Precision::Fp32 ? 4 : 2;
  switch (s.stack.accumulation) {
    case Accumulation::Autograd16:
      bytes.gradient = bytes.weight;
      break;
    case Accumulation::Separate32:
      bytes.gradient = 6;
      break;
    case Accumulation::MainGrad32:
    case Accumulation::Fused32:
      bytes.gradient = 4;
      break;
  }
  const double moments = s.optimizer.name == "sgd" ? 0 : 2 * element_bytes(s.optimizer.states);
  const bool keeps = s.precision != Precision::Fp32 && s.optimizer.keeps_master;
  const double master = keeps ? element_bytes(s.optimizer.master) : 0;
  if (s.optimizer.kernel == OptimizerKernel::Epilogue) bytes.gradient = 0;
  bytes.optimizer = master + moments;
  return bytes;
}

namespace {

/// Stored of an MLP, in its widths: what goes into its activation function, and what comes out
/// unless that is made again.
double stored_widths(const Scenario& s, const Layer& layer) {
  return (layer.mlp.gated ? 2 : 1) + (s.recompute_parts.activation ? 0 : 1);
}

/// Of the rank whose experts get most tokens.
LayerShape busiest_shape(const Scenario& s, const Layer& layer) {
  LayerShape shape = layer_shape(s);
  shape.experts.load =
      expert_load(s.moe, layer.experts.count, layer.experts.per_token, s.parallel.ep).slowest;
  return shape;
}

/// Rows of the experts: sorted input, output of the first product and of the activation, output
/// before it is weighted (its product with the gradient is that of the weights). Shared experts as
/// a dense MLP. Logits and shares of the router in fp32.
double expert_activation_bytes(const Scenario& s, const Layer& layer, const LayerShape& plain) {
  const Routed r = routed(s.model, layer, busiest_shape(s, layer));
  const double widths = stored_widths(s, layer);
  const double rows = plain.element * r.rows * (2 * r.hidden + widths * r.width);
  const double shared = plain.element * plain.tokens * widths *
                        static_cast<double>(layer.experts.shared_width) / plain.tp;
  return rows + shared + 8 * r.tokens * static_cast<double>(layer.experts.count);
}

}  // namespace

double activation_bytes(const Scenario& s, const Layer& layer) {
  const Attention& a = layer.attention;
  const LayerShape shape = layer_shape(s);
  const auto h = static_cast<double>(s.model.hidden);
  const double t = shape.tp;
  const double masks = s.stack.dropout ? 2 * h : 0;
  const double eager_norm = s.stack.norm == NormKernel::Eager ? 8 * h : 0;
  const double e = shape.element;
  const RecomputeParts& again = s.recompute_parts;
  // Inputs and outputs of both norms: of norms that run again the inputs alone.
  // And of a skip connection both tensors that are joined.
  const double outside = e * ((again.norms ? 2 : 4) + (layer.joins_skip ? 2 : 0)) * h + masks +
                         (again.norms ? 0 : eager_norm * e / 2);
  const double kv_heads = std::max(static_cast<double>(a.kv_heads) / t, 1.0);
  const double kv =
      (a.kind == AttentionKind::Latent ? static_cast<double>(a.heads) / t : kv_heads) *
      static_cast<double>(a.head_dim);
  const double q = static_cast<double>(a.heads * a.head_dim) / t;
  const double ffn = static_cast<double>(layer.mlp.width) / t;
  // Queries, keys, values and output; absorbed, queries and sums of the latent, and the latent.
  const Attention core = core_of(a);
  const double attention =
      a.absorbed
          ? static_cast<double>(a.heads * (core.head_dim + core.value_dim + a.value_dim)) / t +
                static_cast<double>(core.head_dim)
          : 2 * q + 2 * kv;
  double per_token =
      outside / (shape.sequence_parallel ? t : 1) + e * (attention + stored_widths(s, layer) * ffn);
  double scores = 0, experts = 0;
  if (layer.experts.count > 0) experts = expert_activation_bytes(s, layer, shape);
  if (!stores_scores(shape.attention)) {
    per_token += 8 * static_cast<double>(a.heads) / t;
  } else if (s.recompute != Recompute::Selective) {
    // Softmax in and out and, eager, its fp32 copy; with dropout its output and a one-byte mask.
    const double per_score = shape.attention == "eager" ? 3 * e + 4
                             : s.stack.dropout          ? 2 * e + 1
                                                        : 2 * e;
    scores = per_score * shape.tokens * shape.sequence * static_cast<double>(a.heads) / t;
  }
  return per_token * shape.tokens + scores + experts;
}

double weight_gradient_bytes(const Scenario& s, const Layer& layer) {
  const Attention& a = layer.attention;
  const LayerShape shape = layer_shape(s);
  const double t = shape.tp;
  const auto h = static_cast<double>(s.model.hidden);
  const double kv_heads = std::max(static_cast<double>(a.kv_heads) / t, 1.0);
  const double q = static_cast<double>(a.heads * a.head_dim) / t;
  const double kv = kv_heads * static_cast<double>(a.head_dim);
  const double v = static_cast<double>(a.heads * a.value_dim) / t;
  const double gate = layer.mlp.gated ? 2 : 1;
  const double ffn = static_cast<double>(layer.mlp.width) / t;
  const double outside = (layer.joins_skip ? 7 : 4) * h / (shape.sequence_parallel ? t : 1);
  const double dense = shape.element * shape.tokens * (outside + q + 2 * kv + v + (gate + 1) * ffn);
  if (layer.experts.count == 0) return dense;
  // Inputs and output gradients of both products of the experts.
  const Routed r = routed(s.model, layer, busiest_shape(s, layer));
  const double shared = static_cast<double>(layer.experts.shared_width) / t;
  return dense + shape.element * (shape.tokens * (gate + 1) * shared +
                                  r.rows * (2 * r.hidden + (gate + 1) * r.width));
}

bool recomputes(const Scenario& s, int i) {
  return s.recompute == Recompute::Full ||
         (s.recompute == Recompute::Blockwise && i < s.recompute_layers);
}

double checkpoint_bytes(const Scenario& s) {
  const LayerShape shape = layer_shape(s);
  return shape.element * shape.tokens * static_cast<double>(s.model.hidden) /
         (shape.sequence_parallel ? shape.tp : 1);
}

HeldParameters held_parameters(const Scenario& s, const Stage& stage) {
  double experts = 0;
  each_layer(s, stage, [&](const Layer& layer, int) {
    if (layer.experts.count > 0) experts += static_cast<double>(routed_parameters(s.model, layer));
  });
  const double all = stage_parameters(s, stage);
  if (experts == 0) return {all, 0};
  const double held = experts / (double{1} * s.parallel.ep * s.parallel.etp);
  return {all - held, held};
}

DataRanks data_ranks(const Scenario& s) {
  const double dense = static_cast<double>(s.parallel.dp) * s.parallel.cp;
  if (!has_experts(s.model)) return {dense, 1};
  return {dense, dense * s.parallel.tp / s.parallel.ep / s.parallel.etp};
}

DataRanks shard_ranks(const Scenario& s) {
  DataRanks ranks = data_ranks(s);
  if (s.parallel.shard > 0) ranks.dense = static_cast<double>(s.parallel.shard) * s.parallel.cp;
  return ranks;
}

double stage_parameters(const Scenario& s, const Stage& stage) {
  double sum = 0, experts = 0;
  each_layer(s, stage, [&](const Layer& layer, int) {
    const std::int64_t routed = layer.experts.count > 0 ? routed_parameters(s.model, layer) : 0;
    sum += static_cast<double>(layer_parameters(s.model, layer) - routed);
    experts += static_cast<double>(routed);
  });
  if (const int more = prediction_layers(s, stage); more > 0) {
    sum += static_cast<double>(more * (prediction_layer_parameters(s.model) -
                                       layer_parameters(s.model, last_layer(s.model))));
  }
  if (stage.embedding) sum += static_cast<double>(embedding_parameters(s.model));
  if (stage.head) {
    const bool own = !s.model.tied || !stage.embedding;
    sum += own ? static_cast<double>(s.model.vocab * s.model.hidden) : 0;
  }
  const double dense = sum / s.parallel.tp;
  return experts > 0 ? dense + experts / s.parallel.ep / s.parallel.etp : dense;
}

double stage_matrix_parameters(const Scenario& s, const Stage& stage) {
  double sum = 0;
  for (int i = 0; i < stage.layers; ++i) {
    sum += matrix_parameters(s.model, layer_at(s.model, stage, i));
  }
  return sum / s.parallel.tp;
}

namespace {

/// Of the embedding and the head, where the stage has one of its own.
int token_tables(const Scenario& s, const Stage& stage) {
  const bool own_head = stage.head && !(s.model.tied && stage.embedding);
  return (stage.embedding ? 1 : 0) + (own_head ? 1 : 0);
}
double table_parameters(const Scenario& s) {
  return static_cast<double>(s.model.vocab * s.model.hidden) / s.parallel.tp;
}
double moment_bytes(const Scenario& s) {
  return s.optimizer.name == "sgd" ? 0 : 2 * element_bytes(s.optimizer.states);
}

double optimizer_bytes(const Scenario& s, const Stage& stage, const DataRanks& over) {
  const double tables = token_tables(s, stage) * table_parameters(s);
  const HeldParameters held = held_parameters(s, stage);
  const double each = state_bytes(s).optimizer;
  const double dense =
      (held.dense * each - tables * moment_bytes(s) + table_state_bytes(s, stage)) / over.dense;
  return held.experts > 0 ? dense + held.experts * each / over.experts : dense;
}

}  // namespace

double table_state_bytes(const Scenario& s, const Stage& stage) {
  if (!s.optimizer.ember_tables)
    return token_tables(s, stage) * table_parameters(s) * moment_bytes(s);
  const double rows = static_cast<double>(s.model.vocab) / s.parallel.tp;
  return token_tables(s, stage) * 4 * (rows + static_cast<double>(s.model.hidden) + 1);
}

StageMemory stage_memory(const Scenario& s, const Plan& plan, const Stage& stage) {
  const HeldParameters parameters = held_parameters(s, stage);
  const StateBytes bytes = state_bytes(s);
  const DataRanks shards = shard_ranks(s);
  StageMemory m;
  m.parameters = dealt(parameters, bytes.weight, s.parallel.zero >= 3 ? shards : kWhole);
  m.gradients = dealt(parameters, bytes.gradient, s.parallel.zero >= 2 ? shards : kWhole);
  m.optimizer = optimizer_bytes(s, stage, s.parallel.zero >= 1 ? shards : kWhole);
  if (s.frozen) m.gradients = m.optimizer = 0;
  m.activation = stage_activation(s, stage);
  if (s.stack.keeps_stage_outputs && s.parallel.pp > 1 && !stage.head) {
    m.activation += checkpoint_bytes(s);
  }
  m.activation *= s.stack.activation_overhead;
  if (stage.layers > 0) {
    const Layer& layer = layer_at(s.model, stage, 0);
    if (s.recompute == Recompute::Full || s.recompute == Recompute::Blockwise) {
      m.workspace += activation_bytes(s, layer) * s.stack.activation_overhead;
    }
    if (s.recompute_parts.any()) {
      Scenario whole = s;
      whole.recompute_parts = {};
      m.workspace += activation_bytes(whole, layer) - activation_bytes(s, layer);
    }
    m.workspace += context_buffer_bytes(layer, layer_shape(s));
    if (s.stack.accumulation == Accumulation::MainGrad32)
      m.workspace += 4 * largest_matrix(s, layer);
    if (s.parallel.zero >= 3) {
      const double gathered =
          held_parameters(s.model, layer, s.parallel.tp, s.parallel.ep * s.parallel.etp).sum();
      m.workspace += kGatheredLayers * gathered * (bytes.weight + bytes.gradient);
    }
  }
  for (int i = 0; i < stage.layers; ++i) {
    m.kept_for_weights += weight_gradient_bytes(s, layer_at(s.model, stage, i));
  }
  if (s.frozen) m.kept_for_weights = 0;
  m.checkpoint = checkpoint_bytes(s);
  if (stage.head) {
    const double vocab =
        static_cast<double>(s.model.vocab) / (s.stack.sharded_logits ? s.parallel.tp : 1);
    const double pieces = s.loss_chunks;
    m.logits = plan.tokens / pieces * vocab * s.stack.logit_bytes *
               (pieces > 1 ? 1 : 1 + s.model.prediction_layers);
    if (s.loss_chunks == 1)
      m.kept_for_weights += plan.tokens * vocab * activation_element(s.precision);
  }
  return m;
}

}  // namespace paceline::models

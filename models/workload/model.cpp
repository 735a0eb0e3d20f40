// SPDX-License-Identifier: Apache-2.0
#include "models/workload/model.hpp"

#include <algorithm>

namespace paceline::models {
namespace {

/// One weight matrix of a layer, `copies` of the same shape.
struct Matrix {
  std::int64_t rows = 0, columns = 0, copies = 1;
  bool bias = false;
  bool routed = false;        ///< of the routed experts: a token uses only some copies
  bool low_precision = true;  ///< quantized in FP8 checkpoints
};

using Matrices = std::vector<Matrix>;

// Exact while every factor is below 2^24 and one layer below 2^62: check_model sees to it.
std::int64_t count(const Matrix& m) {
  return m.copies * (m.rows * m.columns + (m.bias ? m.rows : 0));
}

void add_heads(Matrices& out, std::int64_t hidden, const Attention& a) {
  const std::int64_t queries = a.heads * a.head_dim;
  out.push_back({queries * (a.output_gate ? 2 : 1), hidden, 1, a.qkv_bias});
  if (!a.reuses_kv) {
    out.push_back({a.kv_heads * a.head_dim, hidden, 1, a.qkv_bias});
    if (!a.shared_kv) out.push_back({a.kv_heads * a.value_dim, hidden, 1, a.qkv_bias});
  }
  out.push_back({hidden, a.heads * a.value_dim, 1, a.out_bias});
}

void add_latent(Matrices& out, std::int64_t hidden, const Attention& a) {
  const std::int64_t queries = a.heads * (a.nope_dim + a.rope_dim);
  if (a.q_rank > 0) {
    out.push_back({a.q_rank, hidden, 1, a.qkv_bias});
    out.push_back({queries, a.q_rank});
  } else {
    out.push_back({queries, hidden});
  }
  out.push_back({a.kv_rank + a.rope_dim, hidden, 1, a.qkv_bias});
  out.push_back({a.heads * (a.nope_dim + a.value_dim), a.kv_rank});
  out.push_back({hidden, a.heads * a.value_dim, 1, a.out_bias});
}

// Gated delta net: queries, keys, values and output gate in one projection, the two step logits of
// each value head in another.
void add_linear(Matrices& out, std::int64_t hidden, const Attention& a) {
  const std::int64_t keys = a.key_heads * a.head_dim, values = a.value_heads * a.value_dim;
  out.push_back({2 * keys + 2 * values, hidden});
  out.push_back({2 * a.value_heads, hidden, 1, false, false, false});
  out.push_back({hidden, values});
}

void add_mlp(Matrices& out, std::int64_t hidden, std::int64_t width, bool gated, bool bias,
             std::int64_t copies = 1, bool routed = false) {
  if (width == 0) return;
  out.push_back({width, hidden, copies * (gated ? 2 : 1), bias, routed});
  out.push_back({hidden, width, copies, bias, routed});
}

Matrices matrices(const Model& model, const Layer& layer) {
  Matrices out;
  switch (layer.attention.kind) {
    case AttentionKind::Heads:
      add_heads(out, model.hidden, layer.attention);
      break;
    case AttentionKind::Latent:
      add_latent(out, model.hidden, layer.attention);
      break;
    case AttentionKind::Linear:
      add_linear(out, model.hidden, layer.attention);
      break;
  }
  if (layer.joins_skip)
    out.push_back({model.hidden, 2 * model.hidden, 1, layer.attention.out_bias});
  const Experts& e = layer.experts;
  add_mlp(out, model.hidden, layer.mlp.width, layer.mlp.gated, layer.mlp.bias);
  if (e.count > 0) {
    out.push_back({e.count, model.hidden, 1, false, false, false});
    add_mlp(out, model.hidden, e.width, layer.mlp.gated, e.expert_bias, e.count, true);
    add_mlp(out, model.hidden, e.shared_width, layer.mlp.gated, e.expert_bias);
    if (e.shared_gate) out.push_back({1, model.hidden, 1, false, false, false});
  }
  return out;
}

std::int64_t norm_parameters(const Model& model) {
  if (!model.norm_weight) return 0;
  return model.hidden * (model.norm == NormKind::Layer && model.norm_bias ? 2 : 1);
}

std::int64_t qk_norm_parameters(const Attention& a) {
  switch (a.qk_norm) {
    case QkNorm::None:
      return 0;
    case QkNorm::PerHead:
      return a.head_dim * (a.reuses_kv ? 1 : 2);
    case QkNorm::Whole:
      return (a.heads + a.kv_heads) * a.head_dim;
  }
  return 0;
}

/// Everything that is no matrix: norms, sinks, router biases, convolution, leftovers.
std::int64_t vectors(const Model& model, const Layer& layer) {
  const Attention& a = layer.attention;
  std::int64_t n = layer.norms * norm_parameters(model) + layer.extra_parameters;
  switch (a.kind) {
    case AttentionKind::Heads:
      n += qk_norm_parameters(a) + (a.sinks ? a.heads : 0);
      break;
    case AttentionKind::Latent:
      n += a.q_rank + a.kv_rank;
      break;
    case AttentionKind::Linear:
      // Convolution over queries, keys and values; step bias and decay per head; the output norm.
      n += a.conv * (2 * a.key_heads * a.head_dim + a.value_heads * a.value_dim);
      n += 2 * a.value_heads + a.value_dim;
      break;
  }
  return n + (layer.experts.router_bias ? layer.experts.count : 0);
}

std::int64_t ends(const Model& model) {
  const int norms = (model.final_norm ? 1 : 0) + (model.embedding_norm ? 1 : 0);
  return embedding_parameters(model) + head_parameters(model) + norms * norm_parameters(model) +
         model.extra_parameters;
}

std::int64_t layer_scales(const Model& model, const Layer& layer) {
  const std::int64_t block = model.scale_block;
  std::int64_t n = 0;
  for (const Matrix& m : matrices(model, layer))
    if (m.low_precision)
      n += m.copies * ((m.rows + block - 1) / block) * ((m.columns + block - 1) / block);
  return n;
}

}  // namespace

std::int64_t skips_over(const Model& model, std::int64_t below) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  std::int64_t count = 0;
  for (std::int64_t i = std::max(below, layers - below); i < layers; ++i)
    count +=
        model.kinds[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(i)])].joins_skip
            ? 1
            : 0;
  return count;
}

Attention core_of(const Attention& a) {
  if (!a.absorbed) return a;
  Attention core = a;
  core.kind = AttentionKind::Heads;
  core.kv_heads = 1;
  core.head_dim = a.kv_rank + a.rope_dim;
  core.value_dim = a.kv_rank;
  return core;
}

bool has_experts(const Model& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(),
                     [](const Layer& layer) { return layer.experts.count > 0; });
}

std::int64_t routed_parameters(const Model& model, const Layer& layer) {
  std::int64_t n = 0;
  for (const Matrix& m : matrices(model, layer))
    if (m.routed) n += count(m);
  return n;
}

std::int64_t layer_parameters(const Model& model, const Layer& layer) {
  std::int64_t n = vectors(model, layer);
  for (const Matrix& m : matrices(model, layer)) n += count(m);
  return n;
}

HeldParameters held_parameters(const Model& model, const Layer& layer, int tp, int expert_ranks) {
  const std::int64_t routed = layer.experts.count > 0 ? routed_parameters(model, layer) : 0;
  return {static_cast<double>(layer_parameters(model, layer) - routed) / tp,
          static_cast<double>(routed) / expert_ranks};
}

std::int64_t active_layer_parameters(const Model& model, const Layer& layer) {
  std::int64_t n = vectors(model, layer);
  for (const Matrix& m : matrices(model, layer))
    n += m.routed ? count(m) / layer.experts.count * layer.experts.per_token : count(m);
  return n;
}

std::int64_t embedding_parameters(const Model& model) {
  const std::int64_t width = model.embedding_dim > 0 ? model.embedding_dim : model.hidden;
  const std::int64_t projection = model.embedding_dim > 0 ? model.embedding_dim * model.hidden : 0;
  return model.vocab * width + model.positions * model.hidden + projection;
}

std::int64_t head_parameters(const Model& model) {
  const std::int64_t width = model.embedding_dim > 0 ? model.embedding_dim : model.hidden;
  const std::int64_t projection = model.embedding_dim > 0 ? model.embedding_dim * model.hidden : 0;
  return (model.tied ? 0 : model.vocab * width) + projection + (model.head_bias ? model.vocab : 0);
}

std::int64_t prediction_layer_parameters(const Model& model) {
  if (model.layers.empty()) return 0;
  const Layer& last = model.kinds[static_cast<std::size_t>(model.layers.back())];
  return layer_parameters(model, last) + 2 * model.hidden * model.hidden +
         3 * norm_parameters(model);
}

std::int64_t total_parameters(const Model& model, bool with_prediction_layers) {
  std::vector<std::int64_t> by_kind;
  for (const Layer& kind : model.kinds) by_kind.push_back(layer_parameters(model, kind));
  std::int64_t n = ends(model);
  for (int kind : model.layers) n += by_kind[static_cast<std::size_t>(kind)];
  if (with_prediction_layers) n += model.prediction_layers * prediction_layer_parameters(model);
  return n;
}

std::int64_t active_parameters(const Model& model) {
  std::vector<std::int64_t> by_kind;
  for (const Layer& kind : model.kinds) by_kind.push_back(active_layer_parameters(model, kind));
  std::int64_t n = ends(model);
  for (int kind : model.layers) n += by_kind[static_cast<std::size_t>(kind)];
  return n;
}

std::int64_t checkpoint_scales(const Model& model, bool with_prediction_layers) {
  if (model.scale_block == 0 || model.layers.empty()) return 0;
  std::vector<std::int64_t> by_kind;
  for (const Layer& kind : model.kinds) by_kind.push_back(layer_scales(model, kind));
  std::int64_t n = 0;
  for (int kind : model.layers) n += by_kind[static_cast<std::size_t>(kind)];
  if (with_prediction_layers)
    n += model.prediction_layers * by_kind[static_cast<std::size_t>(model.layers.back())];
  return n;
}

}  // namespace paceline::models

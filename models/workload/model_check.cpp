// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "models/workload/limits.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {
namespace {

struct Check {
  const std::string& where;

  void require(bool condition, const std::string& problem, const std::string& hint = "") const {
    if (!condition) throw base::Error(where, problem, hint);
  }
  void size(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) const {
    require(value >= low && value <= high, std::string(name) + " is " + std::to_string(value),
            "must be " + std::to_string(low) + " to " + std::to_string(high));
  }
};

void check_attention(const Check& c, const Attention& a) {
  const std::int64_t dim = limits::kHeadDim;
  switch (a.kind) {
    case AttentionKind::Heads:
      c.size("heads", a.heads, 1, limits::kHeads);
      c.size("kv_heads", a.kv_heads, 1, a.heads);
      c.require(a.heads % a.kv_heads == 0,
                std::to_string(a.kv_heads) + " key/value heads do not divide " +
                    std::to_string(a.heads) + " heads",
                "every key/value head serves the same number of query heads");
      c.size("head_dim", a.head_dim, 1, dim);
      c.size("value_dim", a.value_dim, 1, dim);
      break;
    case AttentionKind::Latent:
      c.size("heads", a.heads, 1, limits::kHeads);
      c.size("rank of the queries", a.q_rank, 0, limits::kRank);
      c.size("rank of keys and values", a.kv_rank, 1, limits::kRank);
      c.size("rotary head_dim", a.rope_dim, 0, dim);
      c.size("head_dim without rotation", a.nope_dim, 1, dim);
      c.size("value_dim", a.value_dim, 1, dim);
      break;
    case AttentionKind::Linear:
      c.size("key heads", a.key_heads, 1, limits::kHeads);
      c.size("value heads", a.value_heads, 1, limits::kHeads);
      c.require(a.value_heads % a.key_heads == 0, "key heads do not divide value heads");
      c.size("head_dim", a.head_dim, 1, dim);
      c.size("value_dim", a.value_dim, 1, dim);
      c.size("convolution", a.conv, 1, 1024);
      break;
  }
}

void check_layer(const Check& c, const Layer& layer, ModelUse use) {
  const bool mixes = layer.attention.kind != AttentionKind::Heads || layer.attention.heads > 0;
  if (mixes || use == ModelUse::Whole) check_attention(c, layer.attention);
  const Experts& e = layer.experts;
  c.size("mlp width", layer.mlp.width, e.count > 0 ? 0 : 1, limits::kWidth);
  c.size("experts", e.count, 0, limits::kExperts);
  if (e.count > 0) {
    c.size("experts per token", e.per_token, 1, e.count);
    c.size("expert width", e.width, 1, limits::kWidth);
    c.size("shared expert width", e.shared_width, 0, limits::kWidth);
  }
  c.size("norms of a layer", layer.norms, 0, 16);
}

}  // namespace

void check_model(const Model& model, const std::string& where, ModelUse use) {
  const Check c{where};
  c.size("hidden", model.hidden, 1, limits::kHidden);
  c.size("vocab", model.vocab, use == ModelUse::Module ? 0 : 1, limits::kVocab);
  c.size("positions", model.positions, 0, limits::kVocab);
  c.size("embedding width", model.embedding_dim, 0, limits::kHidden);
  c.size("layers", static_cast<std::int64_t>(model.layers.size()), 1, limits::kLayers);
  c.size("prediction layers", model.prediction_layers, 0, 64);
  double total = 0;
  std::vector<double> by_kind;
  for (const Layer& kind : model.kinds) {
    check_layer(c, kind, use);
    by_kind.push_back(static_cast<double>(layer_parameters(model, kind)));
  }
  for (int kind : model.layers) {
    c.size("kind of a layer", kind, 0, static_cast<std::int64_t>(model.kinds.size()) - 1);
    total += by_kind[static_cast<std::size_t>(kind)];
  }
  total += static_cast<double>(embedding_parameters(model) + head_parameters(model));
  total += static_cast<double>(model.prediction_layers) *
           static_cast<double>(prediction_layer_parameters(model));
  c.require(total <= limits::kParameters, "the model has more than 10^16 parameters",
            "check hidden, layers, experts and the mlp width");
}

}  // namespace paceline::models

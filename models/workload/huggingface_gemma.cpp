// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/workload/huggingface_config.hpp"

/// Gemma 1 to 4: GeGLU, tied embedding, a head dimension of its own.
namespace paceline::models::huggingface {
namespace {

struct Generation {
  std::string_view type;
  Defaults defaults;
  int norms = 2;  ///< from Gemma 2 on also behind attention and MLP
  QkNorm qk_norm = QkNorm::None;
  Size pattern = 1;  ///< every pattern-th layer sees the whole sequence
  Size window = 0;   ///< class default
};

constexpr std::array kGenerations{
    Generation{"gemma", {256000, 24576, 16, 16, 256, 8192, true, "gelu_pytorch_tanh"}},
    Generation{"gemma2",
               {256000, 9216, 8, 4, 256, 8192, true, "gelu_pytorch_tanh"},
               4,
               QkNorm::None,
               2,
               4096},
    Generation{"gemma3_text",
               {262208, 9216, 8, 4, 256, 131072, true, "gelu_pytorch_tanh"},
               4,
               QkNorm::PerHead,
               6,
               4096},
};

const Generation& generation_of(const std::string& type) {
  for (const Generation& generation : kGenerations)
    if (generation.type == type) return generation;
  base::check_failed("generation listed", __FILE__, __LINE__);
}

}  // namespace

Model read_gemma(Input& in) {
  Config& c = in.text;
  const Generation& g = generation_of(c.type());
  const Sizes sizes = read_sizes(in, g.defaults);
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.norms = g.norms;
  layer.attention.qk_norm = g.qk_norm;
  layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  const Size window = g.window > 0 ? c.size({"sliding_window"}, limits::kContext, g.window) : 0;
  Size pattern = g.pattern;
  for (std::string_view key : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (c.given({key})) pattern = c.size({key}, limits::kLayers);
  append_windowed(model, c, sizes.layers, layer, window,
                  g.window > 0 ? sliding_but_every : all_full, pattern);
  return model;
}

namespace {

/// What Gemma 4 adds to a config.
struct Gemma4 {
  Sizes sizes;
  Size global_head_dim = 0, global_kv_heads = 0;
  bool shared_kv = false;    ///< keys double as values where attention is global
  Size reusing = 0;          ///< the last layers that take keys and values from earlier ones
  bool double_wide = false;  ///< their MLP is twice as wide
  Size per_layer = 0, per_layer_vocab = 0;  ///< embedding of its own for each layer
  Size window = 0;
  Experts experts;
};

Gemma4 read_gemma4_sizes(Input& in) {
  Config& c = in.text;
  Gemma4 g;
  g.sizes = read_sizes(in, {262144, 9216, 8, 4, 256, 131072, true, "gelu_pytorch_tanh"});
  g.global_head_dim = c.size({"global_head_dim"}, limits::kHeadDim, 512);
  g.shared_kv = c.flag({"attention_k_eq_v"}, false);
  g.global_kv_heads = g.sizes.attention.kv_heads;
  if (g.shared_kv && c.given({"num_global_key_value_heads"}))
    g.global_kv_heads = c.size({"num_global_key_value_heads"}, limits::kHeads);
  g.reusing = c.size({"num_kv_shared_layers"}, g.sizes.layers, 0, 0);
  g.double_wide = c.flag({"use_double_wide_mlp"}, false);
  g.per_layer = c.size({"hidden_size_per_layer_input"}, limits::kHeadDim, 256, 0);
  if (g.per_layer > 0)
    g.per_layer_vocab = c.size({"vocab_size_per_layer_input"}, limits::kVocab, 262144);
  g.window = c.size({"sliding_window"}, limits::kContext, 512);
  if (c.flag({"enable_moe_block"}, false)) {
    g.experts.count = c.size({"num_experts"}, limits::kExperts);
    g.experts.per_token = c.size({"top_k_experts"}, g.experts.count);
    g.experts.width = c.size({"moe_intermediate_size"}, limits::kWidth);
  }
  return g;
}

Layer gemma4_layer(Config& c, const Gemma4& g, bool global, bool reusing) {
  Layer layer = gated_layer(g.sizes);
  Attention& a = layer.attention;
  a.qk_norm = QkNorm::PerHead;
  a.qkv_bias = a.out_bias = c.flag({"attention_bias"}, false);
  a.reuses_kv = reusing;
  a.window = global ? 0 : g.window;
  if (global) {
    a.head_dim = a.value_dim = g.global_head_dim;
    a.kv_heads = g.global_kv_heads;
    a.shared_kv = g.shared_kv;
  }
  if (reusing && g.double_wide) layer.mlp.width *= 2;
  layer.norms = 4;
  layer.extra_parameters = 1;  // layer_scalar
  if (g.per_layer > 0) {       // gate and projection of the layer's own embedding, and their norm
    layer.extra_parameters += 2 * g.per_layer * g.sizes.hidden;
    layer.norms += 1;
  }
  if (g.experts.count > 0) {  // the dense MLP stays beside the experts, each with norms of its own
    layer.experts = g.experts;
    layer.norms += 3;
    layer.extra_parameters += g.sizes.hidden + g.experts.count;  // scales of the router
  }
  return layer;
}

}  // namespace

// Per layer embeddings, keys as values and shared keys: modeling_gemma4.py of transformers.
Model read_gemma4(Input& in) {
  const Gemma4 g = read_gemma4_sizes(in);
  Model model = start(in, g.sizes, NormKind::Rms);
  std::vector<std::string> types = read_layer_types(
      in.text, g.sizes.layers, {"sliding_attention", "full_attention"}, sliding_but_every, 6);
  types.back() = "full_attention";  // the class forces it
  for (Size i = 0; i < g.sizes.layers; ++i)
    append(model, gemma4_layer(in.text, g, types[static_cast<std::size_t>(i)] == "full_attention",
                               i >= g.sizes.layers - g.reusing));
  if (g.per_layer > 0)
    model.extra_parameters =
        g.sizes.layers * g.per_layer * (g.per_layer_vocab + g.sizes.hidden) + g.per_layer;
  return model;
}

}  // namespace paceline::models::huggingface

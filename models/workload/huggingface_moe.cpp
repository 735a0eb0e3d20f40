// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/workload/huggingface_config.hpp"

/// Mixtures of experts with grouped-query attention, and Qwen3-Next.
namespace paceline::models::huggingface {
namespace {

Layer dense_of(Layer layer) {
  layer.experts = {};
  return layer;
}

Layer sparse_of(Layer layer) {
  layer.mlp.width = 0;
  return layer;
}

Experts read_experts(Config& c, Keys count, Size count_default, Size per_token_default,
                     Size width) {
  Experts e;
  e.count = c.size(count, limits::kExperts, count_default);
  e.per_token = c.size({"num_experts_per_tok", "experts_per_token"}, e.count,
                       std::min(per_token_default, e.count));
  e.width = width;
  return e;
}

bool contains(const std::vector<Size>& list, Size value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Which layers of a Qwen model have experts: every step-th one that is not listed as dense.
struct QwenExpertLayers {
  Size step;
  std::vector<Size> dense;
  bool operator()(Size i) const { return (i + 1) % step == 0 && !contains(dense, i); }
};

QwenExpertLayers read_expert_layers(Config& c) {
  return {c.size({"decoder_sparse_step"}, limits::kLayers, 1), c.integers("mlp_only_layers")};
}

}  // namespace

// Mixtral, OLMoE, PhiMoE and GraniteMoE: every layer sparse, experts as wide as intermediate_size.
Model read_mixtral(Input& in) {
  Config& c = in.text;
  const bool olmoe = c.type() == "olmoe", phi = c.type() == "phimoe";
  const Defaults defaults = olmoe                      ? Defaults{50304, 2048, 16, 0, 0, 4096}
                            : phi                      ? Defaults{32064, 6400, 32, 8, 0, 131072}
                            : c.type() == "granitemoe" ? Defaults{32000, 11008, 32, 0, 0, 2048}
                                                       : Defaults{32000, 14336, 32, 8, 0, 131072};
  const Sizes sizes = read_sizes(in, defaults);
  Model model = start(in, sizes, phi ? NormKind::Layer : NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.experts = olmoe ? read_experts(c, {"num_experts"}, 64, 8, sizes.ffn)
                        : read_experts(c, {"num_local_experts"}, phi ? 16 : 8, 2, sizes.ffn);
  if (olmoe) layer.attention.qk_norm = QkNorm::Whole;
  if (c.type() != "mixtral")
    layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  if (phi) model.head_bias = c.flag({"lm_head_bias"}, false);
  if (c.type() == "mixtral" && c.given({"sliding_window"}))
    layer.attention.window = c.size({"sliding_window"}, limits::kContext);
  repeat(model, sparse_of(layer), sizes.layers);
  return model;
}

// Qwen1.5-MoE, Qwen2-MoE (a shared expert with a gate), Qwen3-MoE and the text part of
// Qwen3-VL-MoE.
Model read_qwen_moe(Input& in) {
  Config& c = in.text;
  const bool second = c.type() == "qwen2_moe", vl = c.type() == "qwen3_vl_moe_text";
  const Defaults defaults = second ? Defaults{151936, 5632, 16, 16, 0, 32768}
                            : vl   ? Defaults{151936, 5632, 16, 16, 0, 128000}
                                   : Defaults{151936, 6144, 32, 4, 0, 32768};
  const Sizes sizes = read_sizes(in, defaults);
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  const Size width = c.size({"moe_intermediate_size"}, limits::kWidth, second || vl ? 1408 : 768);
  layer.experts = second || vl ? read_experts(c, {"num_experts"}, 60, 4, width)
                               : read_experts(c, {"num_experts"}, 128, 8, width);
  if (second) {
    layer.attention.qkv_bias = c.flag({"qkv_bias"}, true);
    layer.experts.shared_width = c.size({"shared_expert_intermediate_size"}, limits::kWidth, 5632);
    layer.experts.shared_gate = true;
  } else {
    layer.attention.qk_norm = QkNorm::PerHead;
    layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  }
  const QwenExpertLayers with_experts = read_expert_layers(c);
  for (Size i = 0; i < sizes.layers; ++i)
    append(model, with_experts(i) ? sparse_of(layer) : dense_of(layer));
  return model;
}

// Gated delta net in three of four layers, gated attention in the fourth, experts everywhere.
Model read_qwen3_next(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {151936, 5632, 16, 2, 256, 32768});
  Model model = start(in, sizes, NormKind::Rms);
  Layer full = gated_layer(sizes);
  full.experts = read_experts(c, {"num_experts"}, 512, 10,
                              c.size({"moe_intermediate_size"}, limits::kWidth, 512));
  full.experts.shared_width = c.size({"shared_expert_intermediate_size"}, limits::kWidth, 512);
  full.experts.shared_gate = true;
  full.attention.qk_norm = QkNorm::PerHead;
  full.attention.output_gate = true;
  full.attention.qkv_bias = full.attention.out_bias = c.flag({"attention_bias"}, false);
  Layer linear = full;
  linear.attention = {};
  linear.attention.kind = AttentionKind::Linear;
  linear.attention.key_heads = c.size({"linear_num_key_heads"}, limits::kHeads, 16);
  linear.attention.value_heads = c.size({"linear_num_value_heads"}, limits::kHeads, 32);
  linear.attention.head_dim = c.size({"linear_key_head_dim"}, limits::kHeadDim, 128);
  linear.attention.value_dim = c.size({"linear_value_head_dim"}, limits::kHeadDim, 128);
  linear.attention.conv = c.size({"linear_conv_kernel_dim"}, 1024, 4);
  const Size interval = c.size({"full_attention_interval"}, limits::kLayers, 4);
  const std::vector<std::string> types = read_layer_types(
      c, sizes.layers, {"linear_attention", "full_attention"},
      [](Size i, Size n) -> std::string_view {
        return (i + 1) % n == 0 ? "full_attention" : "linear_attention";
      },
      interval);
  const QwenExpertLayers with_experts = read_expert_layers(c);
  for (Size i = 0; i < sizes.layers; ++i) {
    const Layer& layer = types[static_cast<std::size_t>(i)] == "full_attention" ? full : linear;
    append(model, with_experts(i) ? sparse_of(layer) : dense_of(layer));
  }
  model.prediction_layers = 1;
  model.notes.push_back(
      "Qwen3-Next checkpoints may hold one prediction layer that no key names; the count without "
      "it is the model's");
  return model;
}

// Sizes of attention and experts stand in attn_config and ffn_config; norms without bias.
Model read_dbrx(Input& in) {
  Config& c = in.text;
  Sizes sizes = read_sizes(in, {32000, kUnread, 16, 0, 0, 2048});
  std::optional<Config> attention = c.map("attn_config"), ffn = c.map("ffn_config");
  if (!attention) c.fail("attn_config", "missing", "a dbrx config must state it");
  if (!ffn) c.fail("ffn_config", "missing", "a dbrx config must state it");
  sizes.attention.kv_heads = attention->size({"kv_n_heads"}, limits::kHeads, 1);
  if (std::optional<Config> act = ffn->map("ffn_act_fn"))
    sizes.activation = activation_named(*act, "name", act->text({"name"}, "silu"));
  Model model = start(in, sizes, NormKind::Layer);
  model.norm_bias = false;
  Layer layer = gated_layer(sizes);
  layer.experts.count = ffn->size({"moe_num_experts"}, limits::kExperts, 4);
  layer.experts.per_token = ffn->size({"moe_top_k"}, layer.experts.count, 1);
  layer.experts.width = ffn->size({"ffn_hidden_size"}, limits::kWidth, 3584);
  repeat(model, sparse_of(layer), sizes.layers);
  return model;
}

// Biases on attention, router and experts; one learned logit a head; windows in every other layer.
Model read_gpt_oss(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {201088, 2880, 64, 8, 64, 131072});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.experts = read_experts(c, {"num_local_experts", "num_experts"}, 128, 4, sizes.ffn);
  layer.experts.router_bias = layer.experts.expert_bias = true;
  layer.attention.sinks = true;
  layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, true);
  const Size window = c.size({"sliding_window"}, limits::kContext, 128);
  append_windowed(model, c, sizes.layers, sparse_of(layer), window, sliding_but_every, 2);
  return model;
}

// Experts in every interleave_moe_layer_step-th layer beside one shared expert of the same width;
// the other layers are dense and wider. Three of four layers see chunks only.
Model read_llama4(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {202048, 8192, 40, 8, 128, 131072});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  layer.mlp.width = c.size({"intermediate_size_mlp"}, limits::kWidth, 16384);
  layer.experts = read_experts(c, {"num_local_experts"}, 16, 1, sizes.ffn);
  layer.experts.shared_width = sizes.ffn;
  const Size step = c.size({"interleave_moe_layer_step"}, limits::kLayers, 1);
  const std::vector<Size> sparse = c.integers("moe_layers");
  const Size chunk = c.size({"attention_chunk_size"}, limits::kContext, 8192);
  for (Size i = 0; i < sizes.layers; ++i) {
    layer.attention.window = (i + 1) % 4 == 0 ? 0 : chunk;
    const bool moe = sparse.empty() ? (i + 1) % step == 0 : contains(sparse, i);
    append(model, moe ? sparse_of(layer) : dense_of(layer));
  }
  return model;
}

// Norms before and behind attention and experts (hpcai-tech/grok-1).
Model read_grok(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {131072, 32768, 48, 8, 0, 8192, true, "gelu"});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.norms = 4;
  layer.experts = read_experts(c, {"num_experts", "num_local_experts"}, 8, 2, sizes.ffn);
  repeat(model, sparse_of(layer), sizes.layers);
  return model;
}

}  // namespace paceline::models::huggingface

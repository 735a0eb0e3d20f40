// SPDX-License-Identifier: Apache-2.0
#include "models/workload/huggingface_config.hpp"

/// DeepSeek and its descendants, and GLM: first layers dense, then many small routed experts beside
/// shared ones; latent attention (DeepSeek-V2, section 2.1) or grouped queries (GLM).
namespace paceline::models::huggingface {
namespace {

/// Routed and shared experts under the keys these families have in common.
Experts read_fine_experts(Config& c) {
  Experts e;
  e.count = c.size({"n_routed_experts"}, limits::kExperts);
  e.per_token = c.size({"num_experts_per_tok"}, e.count);
  e.width = c.size({"moe_intermediate_size"}, limits::kWidth);
  const Size shared = c.given({"n_shared_experts"}) ? c.size({"n_shared_experts"}, 4096, {}, 0) : 0;
  e.shared_width = shared * e.width;
  if (e.shared_width > limits::kWidth)
    c.fail("n_shared_experts", std::to_string(shared) + " shared experts are too wide together");
  return e;
}

void read_latent(Config& c, Attention& a) {
  a.kind = AttentionKind::Latent;
  a.kv_heads = a.heads;
  a.kv_rank = c.size({"kv_lora_rank"}, limits::kRank);
  a.rope_dim = c.size({"qk_rope_head_dim"}, limits::kHeadDim);
  a.nope_dim = c.size({"qk_nope_head_dim"}, limits::kHeadDim);
  a.head_dim = a.rope_dim + a.nope_dim;
  a.value_dim = c.size({"v_head_dim"}, limits::kHeadDim);
  if (!c.given({"q_lora_rank"}) && !c.null("q_lora_rank"))
    c.fail("q_lora_rank", "missing", "state the rank of the queries, or null for none");
  a.q_rank = c.null("q_lora_rank") ? 0 : c.size({"q_lora_rank"}, limits::kRank);
  a.qkv_bias = a.out_bias = c.flag({"attention_bias"}, false);
}

/// The indexer of DeepSeek-V3.2 that chooses which tokens attention sees: queries from the latent,
/// one key a token and its layer norm, one weight a head (arXiv 2512.02556, section 2.1).
Size indexer_parameters(Config& c, const Sizes& sizes, const Attention& a) {
  const Size heads = c.size({"index_n_heads"}, limits::kHeads);
  const Size dim = c.size({"index_head_dim"}, limits::kHeadDim);
  return heads * dim * a.q_rank + dim * sizes.hidden + 2 * dim + heads * sizes.hidden;
}

/// Dense layers up to first_k_dense_replace, then every moe_layer_freq-th one sparse.
void add_layers(Config& c, Model& model, const Layer& layer, Size layers) {
  Layer dense = layer, sparse = layer;
  dense.experts = {};
  sparse.mlp.width = 0;
  const Size first = c.size({"first_k_dense_replace"}, layers, {}, 0);
  const Size step = c.size({"moe_layer_freq"}, limits::kLayers, 1);
  for (Size i = 0; i < layers; ++i) append(model, i >= first && i % step == 0 ? sparse : dense);
}

void read_prediction(Config& c, Model& model) {
  if (!c.given({"num_nextn_predict_layers"})) return;
  model.prediction_layers = static_cast<int>(c.size({"num_nextn_predict_layers"}, 64, {}, 0));
}

}  // namespace

// deepseek (MoE 16B, grouped queries), deepseek_v2, deepseek_v3, deepseek_v32, kimi_k2,
// glm4_moe_lite.
Model read_deepseek(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {0, 0, 0, 0, kUnread});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  if (c.type() == "deepseek") {
    if (sizes.hidden % sizes.attention.heads != 0)
      c.fail("num_attention_heads", "heads do not divide the hidden size");
    layer.attention.head_dim = layer.attention.value_dim = sizes.hidden / sizes.attention.heads;
    layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  } else {
    read_latent(c, layer.attention);
  }
  if (c.type() == "deepseek_v32") {
    layer.extra_parameters = indexer_parameters(c, sizes, layer.attention);
    model.notes.push_back("attention is modelled over the whole sequence, not over chosen tokens");
  }
  layer.experts = read_fine_experts(c);
  // The balancing bias of "noaux_tc" routing is stored with the weights (DeepSeek-V3,
  // section 2.1.2).
  const bool v3 = c.type() != "deepseek" && c.type() != "deepseek_v2";
  layer.experts.router_bias = c.text({"topk_method"}, v3 ? "noaux_tc" : "greedy") == "noaux_tc";
  add_layers(c, model, layer, sizes.layers);
  read_prediction(c, model);
  return model;
}

Model read_glm4_moe(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {151552, 10944, 96, 8, 0, 131072});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.attention.qkv_bias = c.flag({"attention_bias"}, false);
  if (c.flag({"use_qk_norm"}, false)) layer.attention.qk_norm = QkNorm::PerHead;
  layer.experts = read_fine_experts(c);
  layer.experts.router_bias = true;
  add_layers(c, model, layer, sizes.layers);
  read_prediction(c, model);
  return model;
}

// GLM-4 dense: bias on queries, keys and values; the 0414 form (glm4) norms outputs as well.
Model read_glm(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {151552, 13696, 32, 2, 128, 131072});
  Model model = start(in, sizes, NormKind::Rms);
  Layer layer = gated_layer(sizes);
  layer.attention.qkv_bias = c.flag({"attention_bias"}, c.type() == "glm");
  if (c.type() == "glm4") layer.norms = 4;
  repeat(model, layer, sizes.layers);
  return model;
}

// The first releases' own code (THUDM/glm-4-9b, chatglm2, chatglm3): every choice is a key.
Model read_chatglm(Input& in) {
  Config& c = in.text;
  if (!c.given({"ffn_hidden_size"}) || !c.given({"kv_channels"}))
    c.fail("ffn_hidden_size", "the first ChatGLM is not supported",
           "ChatGLM2, ChatGLM3 and GLM-4 state ffn_hidden_size and kv_channels");
  Sizes sizes = read_sizes(in, {0, 0, 0, 0, kUnread});
  Attention& a = sizes.attention;
  a.head_dim = a.value_dim = c.size({"kv_channels"}, limits::kHeadDim);
  a.kv_heads = c.required_flag("multi_query_attention")
                   ? c.size({"multi_query_group_num"}, limits::kHeads)
                   : a.heads;
  Model model = start(in, sizes, c.required_flag("rmsnorm") ? NormKind::Rms : NormKind::Layer);
  model.final_norm = c.flag({"post_layer_norm"}, true);
  Layer layer = gated_layer(sizes);
  layer.mlp.bias = layer.attention.out_bias = c.required_flag("add_bias_linear");
  layer.attention.qkv_bias = layer.mlp.bias || c.required_flag("add_qkv_bias");
  repeat(model, layer, sizes.layers);
  return model;
}

}  // namespace paceline::models::huggingface

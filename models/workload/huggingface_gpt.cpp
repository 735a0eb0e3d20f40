// SPDX-License-Identifier: Apache-2.0
#include "models/workload/huggingface_config.hpp"

/// Descendants of GPT-2: layer norm with bias, an MLP without gate.
namespace paceline::models::huggingface {
namespace {

/// Two norms, biases on every projection, no gate.
Layer plain_layer(const Sizes& sizes) {
  Layer layer = gated_layer(sizes);
  layer.mlp.gated = false;
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias = true;
  return layer;
}

// GPT-Neo alternates global and local attention; its config says so as [[["global", "local"], 12]].
void check_alternating(const Config& c) {
  const base::Value* types = c.find("attention_types");
  if (types == nullptr || types->kind == base::Value::Kind::Null) return;
  using Kind = base::Value::Kind;
  const bool fits = types->kind == Kind::List && types->items.size() == 1 &&
                    types->items[0].kind == Kind::List && types->items[0].items.size() == 2 &&
                    types->items[0].items[0].kind == Kind::List &&
                    types->items[0].items[0].items.size() == 2 &&
                    types->items[0].items[0].items[0].text == "global" &&
                    types->items[0].items[0].items[1].text == "local";
  if (!fits)
    c.fail("attention_types", "is not the alternation of global and local layers",
           "known: [[[\"global\", \"local\"], N]]");
}

Model read_gpt_neo(Input& in) {
  const Sizes sizes = read_sizes(in, {50257, kFourHidden, 16, 0, 0, 2048, true, "gelu_new"});
  Model model = start(in, sizes, NormKind::Layer);
  model.rotary = false;
  model.positions = sizes.context;
  check_alternating(in.text);
  const Size window = in.text.size({"window_size"}, limits::kContext, 256);
  Layer layer = plain_layer(sizes);
  layer.attention.qkv_bias = false;
  for (Size i = 0; i < sizes.layers; ++i) {
    layer.attention.window = i % 2 == 1 ? window : 0;
    append(model, layer);
  }
  return model;
}

}  // namespace

// Also GPT-BigCode (StarCoder 1, SantaCoder): the same block with one key/value head.
Model read_gpt2(Input& in) {
  if (in.text.type() == "gpt_neo") return read_gpt_neo(in);
  Sizes sizes = read_sizes(in, {50257, kFourHidden, 12, 0, 0, 1024, true, "gelu_new"});
  if (in.text.type() == "gpt_bigcode" && in.text.flag({"multi_query"}, true))
    sizes.attention.kv_heads = 1;
  Model model = start(in, sizes, NormKind::Layer);
  model.rotary = false;
  model.positions = sizes.context;
  if (in.text.flag({"add_cross_attention"}, false))
    in.text.fail("add_cross_attention", "is true",
                 "only decoders without an encoder are supported");
  repeat(model, plain_layer(sizes), sizes.layers);
  return model;
}

Model read_gpt_neox(Input& in) {
  const Sizes sizes = read_sizes(in, {50432, 24576, 64, 0, 0, 2048, false, "gelu"});
  Model model = start(in, sizes, NormKind::Layer);
  Layer layer = plain_layer(sizes);
  layer.attention.qkv_bias = layer.attention.out_bias = in.text.flag({"attention_bias"}, true);
  layer.parallel = in.text.flag({"use_parallel_residual"}, true);
  repeat(model, layer, sizes.layers);
  return model;
}

// Also CodeGen. One norm a block; the head has a bias, the attention none.
Model read_gptj(Input& in) {
  const Sizes sizes = read_sizes(in, {50400, kFourHidden, 16, 0, 0, 2048, false, "gelu_new"});
  Model model = start(in, sizes, NormKind::Layer);
  model.head_bias = true;
  Layer layer = plain_layer(sizes);
  layer.attention.qkv_bias = layer.attention.out_bias = false;
  layer.parallel = true;
  layer.norms = 1;
  repeat(model, layer, sizes.layers);
  return model;
}

// `falcon`, and the names of its first releases: RefinedWebModel (1B, 7B) and RefinedWeb (40B),
// whose layers are the "new decoder architecture".
Model read_falcon(Input& in) {
  Config& c = in.text;
  Sizes sizes = read_sizes(in, {65024, kFourHidden, 71, 0, 0, 2048, true, "gelu"});
  const bool new_form = c.flag({"new_decoder_architecture"}, c.type() == "RefinedWeb");
  if (new_form)
    sizes.attention.kv_heads =
        c.size({"num_kv_heads", "n_head_kv"}, limits::kHeads, sizes.attention.heads);
  else if (c.flag({"multi_query"}, true))
    sizes.attention.kv_heads = 1;
  Model model = start(in, sizes, NormKind::Layer);
  model.rotary = !c.flag({"alibi"}, false);
  Layer layer = plain_layer(sizes);
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"bias"}, false);
  layer.parallel = new_form || c.flag({"parallel_attn"}, true);
  const bool two = !layer.parallel || (new_form && c.size({"num_ln_in_parallel_attn"}, 2, 2) == 2);
  layer.norms = two ? 2 : 1;
  repeat(model, layer, sizes.layers);
  return model;
}

Model read_mpt(Input& in) {
  Config& c = in.text;
  const Size ratio = c.size({"expansion_ratio"}, 64, 4);
  Sizes sizes = read_sizes(in, {50368, kUnread, 16, 0, 0, 2048, true, "gelu"});
  sizes.ffn = ratio * sizes.hidden;
  Model model = start(in, sizes, NormKind::Layer);
  std::optional<Config> attention = c.map("attn_config");
  const bool alibi = !attention || attention->flag({"alibi"}, true);
  model.rotary = false;
  model.positions = !alibi && c.flag({"learned_pos_emb"}, true) ? sizes.context : 0;
  model.norm_bias = !c.flag({"no_bias"}, true);
  Layer layer = plain_layer(sizes);
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias = model.norm_bias;
  if (attention) {
    const std::string type = attention->text({"attn_type"}, "multihead_attention");
    if (type == "multiquery_attention") layer.attention.kv_heads = 1;
    if (type == "grouped_query_attention")
      layer.attention.kv_heads = attention->size({"kv_n_heads"}, limits::kHeads);
    if (attention->flag({"qk_ln"}, false))  // over the whole width, with the norms' bias rule
      layer.extra_parameters =
          (sizes.hidden + layer.attention.kv_heads * sizes.attention.head_dim) *
          (model.norm_bias ? 2 : 1);
  }
  repeat(model, layer, sizes.layers);
  return model;
}

// ALiBi, a norm behind the embedding; the class ignores n_inner: the MLP is always 4 x hidden.
Model read_bloom(Input& in) {
  Sizes sizes = read_sizes(in, {250880, kUnread, 8, 0, 0, 2048, true, "gelu"});
  sizes.ffn = 4 * sizes.hidden;
  Model model = start(in, sizes, NormKind::Layer);
  model.rotary = false;
  model.embedding_norm = true;
  repeat(model, plain_layer(sizes), sizes.layers);
  return model;
}

// The position table has two rows more than positions. OPT-350M norms behind the block, has no
// final norm and a narrower embedding with projections in and out.
Model read_opt(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {50272, 3072, 12, 0, 0, 2048, true, "relu"});
  Model model = start(in, sizes, NormKind::Layer);
  model.rotary = false;
  model.positions = sizes.context + 2;
  model.norm_weight = c.flag({"layer_norm_elementwise_affine"}, true);
  model.final_norm =
      c.flag({"do_layer_norm_before"}, true) && !c.flag({"_remove_final_layer_norm"}, false);
  const Size width = c.size({"word_embed_proj_dim"}, limits::kHidden, sizes.hidden);
  model.embedding_dim = width == sizes.hidden ? 0 : width;
  Layer layer = plain_layer(sizes);
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias =
      c.flag({"enable_bias"}, true);
  repeat(model, layer, sizes.layers);
  return model;
}

}  // namespace paceline::models::huggingface

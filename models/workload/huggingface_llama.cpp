// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/workload/huggingface_config.hpp"

/// Families whose block is the one of Llama (norm, attention, norm, gated MLP), give or take
/// biases, a norm of queries and keys, a sliding window or a MLP without gate.
namespace paceline::models::huggingface {
namespace {

enum class Bias {
  None,
  Qkv,        ///< always on queries, keys and values
  Key,        ///< `attention_bias`: all four projections; absent = false
  InternLm,   ///< `bias`: all four projections; absent = true
  StableLm,   ///< `use_qkv_bias`; absent = false
  StarCoder,  ///< `use_bias`: all four and the MLP; absent = true
  SeedOss,    ///< `attention_bias`, absent = true, and `attention_out_bias`, absent = false
};
enum class Window {
  None,
  Always,  ///< `sliding_window` holds in every layer
  Qwen,    ///< only with `use_sliding_window`, from layer `max_window_layers` on
};

struct Family {
  std::string_view type;
  Defaults defaults;  ///< vocab, ffn, heads, kv_heads, head_dim, context, tied, activation
  Bias bias = Bias::None;
  bool mlp_bias = false;  ///< reads `mlp_bias`, absent = false
  bool gated = true;
  NormKind norm = NormKind::Rms;
  QkNorm qk_norm = QkNorm::None;
  Window window = Window::None;
};

constexpr std::array kFamilies{
    Family{"llama", {32000, 11008, 32, 0, 0, 2048}, Bias::Key, true},
    Family{"Yi", {64000, 11008, 32, 4, 0, 4096}},
    Family{"mistral",
           {32000, 14336, 32, 8, 0, 131072},
           Bias::None,
           false,
           true,
           NormKind::Rms,
           QkNorm::None,
           Window::Always},
    Family{"qwen2",
           {151936, 22016, 32, 32, 0, 32768},
           Bias::Qkv,
           false,
           true,
           NormKind::Rms,
           QkNorm::None,
           Window::Qwen},
    Family{"qwen3",
           {151936, 22016, 32, 32, 128, 32768},
           Bias::Key,
           false,
           true,
           NormKind::Rms,
           QkNorm::PerHead,
           Window::Qwen},
    Family{"qwen3_vl_text",
           {151936, 22016, 32, 32, 128, 128000},
           Bias::Key,
           false,
           true,
           NormKind::Rms,
           QkNorm::PerHead},
    Family{"phi3",
           {32064, 8192, 32, 0, 0, 4096},
           Bias::None,
           false,
           true,
           NormKind::Rms,
           QkNorm::None,
           Window::Always},
    Family{"granite", {32000, 11008, 32, 0, 0, 2048}, Bias::Key, true},
    Family{"smollm3", {128256, 11008, 16, 4, 0, 32768, true}, Bias::Key, true},
    Family{"internlm", {103168, 11008, 32, 0, 0, 2048}, Bias::InternLm},
    Family{"internlm2", {103168, 11008, 32, 0, 0, 2048}, Bias::InternLm},
    Family{"baichuan", {}},
    Family{"seed_oss", {155136, 27648, 80, 8, 128, 524288}, Bias::SeedOss, true},
    Family{"arcee", {32000, 18432, 32, 0, 0, 4096, false, "relu2"}, Bias::Key, true, false},
    Family{"nemotron",
           {256000, 24576, 48, 0, 0, 4096, false, "relu2"},
           Bias::Key,
           true,
           false,
           NormKind::Layer},
    Family{
        "stablelm", {50304, 6912, 32, 32, 0, 4096}, Bias::StableLm, false, true, NormKind::Layer},
    Family{"starcoder2",
           {49152, 12288, 24, 2, 0, 4096, true, "gelu_pytorch_tanh"},
           Bias::StarCoder,
           false,
           false,
           NormKind::Layer,
           QkNorm::None,
           Window::Always},
};

const Family& family_of(const std::string& type) {
  for (const Family& family : kFamilies)
    if (family.type == type) return family;
  base::check_failed("family listed", __FILE__, __LINE__);
}

void read_biases(Config& c, const Family& family, Layer& layer) {
  Attention& a = layer.attention;
  switch (family.bias) {
    case Bias::None:
      break;
    case Bias::Qkv:
      a.qkv_bias = true;
      break;
    case Bias::Key:
      a.qkv_bias = a.out_bias = c.flag({"attention_bias"}, false);
      break;
    case Bias::InternLm:
      a.qkv_bias = a.out_bias = c.flag({"bias"}, true);
      break;
    case Bias::StableLm:
      a.qkv_bias = c.flag({"use_qkv_bias"}, false);
      break;
    case Bias::StarCoder:
      a.qkv_bias = a.out_bias = layer.mlp.bias = c.flag({"use_bias"}, true);
      break;
    case Bias::SeedOss:
      a.qkv_bias = c.flag({"attention_bias"}, true);
      a.out_bias = c.flag({"attention_out_bias"}, false);
      break;
  }
  if (family.mlp_bias) layer.mlp.bias = c.flag({"mlp_bias"}, false);
}

// StableLM 2 12B: one norm for both halves of the block, queries and keys normed head by head with
// weights of their own.
void read_stablelm(Config& c, Layer& layer) {
  if (c.flag({"qk_layernorm"}, false)) layer.attention.qk_norm = QkNorm::Whole;
  layer.parallel = c.flag({"use_parallel_residual"}, false);
  if (layer.parallel) layer.norms = 1;
}

/// Window in tokens of the layers from `first` on; 0 = none.
Size read_window(Config& c, const Family& family, Size layers, Size& first) {
  first = 0;
  if (family.window == Window::None || !c.given({"sliding_window"})) return 0;
  if (family.window == Window::Qwen) {
    if (!c.flag({"use_sliding_window"}, false)) return 0;
    first = c.size({"max_window_layers"}, limits::kLayers, layers, 0);
  }
  return c.size({"sliding_window"}, limits::kContext);
}

}  // namespace

Model read_llama_like(Input& in) {
  Config& c = in.text;
  const Family& family = family_of(c.type());
  const Sizes sizes = read_sizes(in, family.defaults);
  Model model = start(in, sizes, family.norm);
  Layer layer = gated_layer(sizes);
  layer.mlp.gated = family.gated;
  layer.attention.qk_norm = family.qk_norm;
  read_biases(c, family, layer);
  if (c.type() == "stablelm") read_stablelm(c, layer);
  Size first = 0;
  const Size window = read_window(c, family, sizes.layers, first);
  for (Size i = 0; i < sizes.layers; ++i) {
    layer.attention.window = i >= first ? window : 0;
    append(model, layer);
  }
  return model;
}

// One norm a block, attention and MLP in parallel, biases everywhere, also on the head.
Model read_phi(Input& in) {
  const Sizes sizes = read_sizes(in, {51200, 8192, 32, 0, 0, 2048, false, "gelu_new"});
  Model model = start(in, sizes, NormKind::Layer);
  model.head_bias = true;
  Layer layer = gated_layer(sizes);
  layer.mlp.gated = false;
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias = true;
  layer.parallel = true;
  layer.norms = 1;
  if (in.text.flag({"qk_layernorm"}, false)) {
    layer.attention.qk_norm = QkNorm::PerHead;
    layer.extra_parameters = 2 * sizes.attention.head_dim;  // the biases of these two norms
  }
  repeat(model, layer, sizes.layers);
  return model;
}

// Command R: layer norm without bias, parallel block, tied embedding.
Model read_cohere(Input& in) {
  Config& c = in.text;
  const Sizes sizes = read_sizes(in, {256000, 22528, 64, 0, 0, 8192, true});
  Model model = start(in, sizes, NormKind::Layer);
  model.norm_bias = false;
  Layer layer = gated_layer(sizes);
  layer.parallel = true;
  layer.norms = 1;
  layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  if (c.type() == "cohere") {
    if (c.flag({"use_qk_norm"}, false)) layer.attention.qk_norm = QkNorm::Whole;
    repeat(model, layer, sizes.layers);
    return model;
  }
  const Size window = c.size({"sliding_window"}, limits::kContext, 4096);
  const Size pattern = c.size({"sliding_window_pattern"}, limits::kLayers, 4);
  append_windowed(model, c, sizes.layers, layer, window, sliding_but_every, pattern);
  return model;
}

// OLMo 1 norms without learned values; OLMo 2 and 3 norm the outputs of attention and MLP, and
// queries and keys over their whole width; OLMo 3 slides in three of four layers.
Model read_olmo(Input& in) {
  Config& c = in.text;
  const bool first = c.type() == "olmo", third = c.type() == "olmo3";
  const Size vocab = first || c.type() == "olmo2" ? 50304 : third ? 100278 : 0;
  const Sizes sizes = read_sizes(in, {vocab, 11008, 32, 0, 0, third ? 65536 : 2048});
  Model model = start(in, sizes, first ? NormKind::Layer : NormKind::Rms);
  model.norm_weight = !first;
  model.norm_bias = false;
  Layer layer = gated_layer(sizes);
  layer.attention.qkv_bias = layer.attention.out_bias = c.flag({"attention_bias"}, false);
  if (!first) layer.attention.qk_norm = QkNorm::Whole;
  const Size window = third ? c.size({"sliding_window"}, limits::kContext, 4096) : 0;
  append_windowed(model, c, sizes.layers, layer, window, third ? sliding_but_every : all_full, 4);
  return model;
}

}  // namespace paceline::models::huggingface

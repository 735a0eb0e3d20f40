// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/message.hpp"
#include "models/workload/huggingface_config.hpp"

namespace paceline::models::huggingface {
namespace {

std::optional<Size> fallback(Size value) {
  return value > 0 ? std::optional<Size>(value) : std::nullopt;
}

Size read_head_dim(Config& c, Size hidden, Size heads, Size class_default) {
  if (c.given({"head_dim"}) || (class_default > 0 && !c.null("head_dim")))
    return c.size({"head_dim"}, limits::kHeadDim, fallback(class_default));
  if (hidden % heads != 0)
    c.fail("num_attention_heads",
           std::to_string(heads) + " heads do not divide the hidden size " + std::to_string(hidden),
           "state head_dim where it is not their ratio");
  return hidden / heads;
}

// Absent takes the class default; null means "as many as heads" (configs older than grouped query).
Size read_kv_heads(Config& c, Size heads, Size class_default) {
  const std::string_view key = "num_key_value_heads";
  if (!c.given({key}) && (c.null(key) || class_default == 0)) return heads;
  const Size kv_heads = c.size({key}, limits::kHeads, fallback(class_default));
  if (kv_heads > heads || heads % kv_heads != 0)
    c.fail(key, std::to_string(kv_heads) + " does not divide " + std::to_string(heads) + " heads",
           "every key/value head serves the same number of query heads");
  return kv_heads;
}

Activation read_activation(Config& c, std::string_view class_default) {
  for (std::string_view key : {"hidden_activation", "hidden_act", "activation_function"})
    if (c.given({key})) return activation_named(c, key, c.text({key}, ""));
  c.note_default("hidden_act", std::string(class_default));
  return activation_named(c, "hidden_act", std::string(class_default));
}

}  // namespace

Sizes read_sizes(Input& in, const Defaults& defaults) {
  Config& c = in.text;
  Sizes s;
  s.hidden = c.size({"hidden_size", "n_embd", "d_model", "n_embed"}, limits::kHidden);
  s.layers = c.size({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, limits::kLayers);
  s.vocab = c.size({"vocab_size", "padded_vocab_size"}, limits::kVocab, fallback(defaults.vocab));
  Attention& a = s.attention;
  a.heads = c.size({"num_attention_heads", "n_head", "n_heads", "num_heads"}, limits::kHeads,
                   fallback(defaults.heads));
  a.kv_heads = read_kv_heads(c, a.heads, defaults.kv_heads);
  if (defaults.head_dim != kUnread)
    a.head_dim = a.value_dim = read_head_dim(c, s.hidden, a.heads, defaults.head_dim);
  if (defaults.ffn != kUnread)
    s.ffn = c.size({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, limits::kWidth,
                   fallback(defaults.ffn == kFourHidden ? 4 * s.hidden : defaults.ffn));
  for (std::string_view key : {"max_position_embeddings", "n_positions", "max_seq_len",
                               "seq_length", "model_max_length", "n_ctx"})
    if (s.context == 0 && c.given({key})) s.context = c.size({key}, limits::kContext);
  if (s.context == 0) s.context = defaults.context;
  s.activation = read_activation(c, defaults.activation);
  s.tied = read_tied(in, defaults.tied);
  return s;
}

bool read_tied(Input& in, bool fallback) {
  const std::string_view key = "tie_word_embeddings";
  if (in.outer.given({key})) return in.outer.flag({key}, fallback);
  return in.text.flag({key}, fallback);
}

Model start(const Input& in, const Sizes& sizes, NormKind norm) {
  Model model;
  model.family = in.outer.type();
  model.hidden = sizes.hidden;
  model.vocab = sizes.vocab;
  model.context = sizes.context;
  model.tied = sizes.tied;
  model.norm = norm;
  model.rotary = true;
  return model;
}

Layer gated_layer(const Sizes& sizes) {
  Layer layer;
  layer.attention = sizes.attention;
  layer.mlp = {sizes.ffn, sizes.activation, true, false};
  return layer;
}

void repeat(Model& model, const Layer& layer, Size count) {
  for (Size i = 0; i < count; ++i) append(model, layer);
}

void append(Model& model, const Layer& layer) {
  const auto kind = std::find(model.kinds.begin(), model.kinds.end(), layer);
  model.layers.push_back(static_cast<int>(kind - model.kinds.begin()));
  if (kind == model.kinds.end()) model.kinds.push_back(layer);
}

std::vector<std::string> read_layer_types(const Config& config, Size layers, Keys known,
                                          std::string_view (*fallback)(Size index, Size pattern),
                                          Size pattern) {
  std::vector<std::string> types = config.texts("layer_types");
  if (types.empty())
    for (Size i = 0; i < layers; ++i) types.emplace_back(fallback(i, pattern));
  if (static_cast<Size>(types.size()) != layers)
    config.fail("layer_types",
                "lists " + std::to_string(types.size()) + " layers, but the model has " +
                    std::to_string(layers),
                "one entry for each layer");
  for (const std::string& type : types) {
    if (std::find(known.begin(), known.end(), type) != known.end()) continue;
    std::string all;
    for (std::string_view name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    config.fail("layer_types", base::quote(type) + " is not supported", "known: " + all);
  }
  return types;
}

std::string_view sliding_but_every(Size index, Size pattern) {
  return (index + 1) % pattern == 0 ? "full_attention" : "sliding_attention";
}

std::string_view all_full(Size, Size) { return "full_attention"; }

void append_windowed(Model& model, const Config& config, Size layers, Layer layer, Size window,
                     std::string_view (*fallback)(Size index, Size pattern), Size pattern) {
  const std::vector<std::string> types =
      read_layer_types(config, layers, {"sliding_attention", "full_attention"}, fallback, pattern);
  for (const std::string& type : types) {
    layer.attention.window = type == "sliding_attention" ? window : 0;
    append(model, layer);
  }
}

}  // namespace paceline::models::huggingface

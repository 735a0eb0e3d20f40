// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "base/message.hpp"
#include "models/hardware/device.hpp"
#include "models/workload/limits.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {
namespace {

struct NamedActivation {
  Activation activation = Activation::Gelu;
  bool gated = false;
};

constexpr std::array<base::Named<NamedActivation>, 5> kActivations{{
    {"gelu", {Activation::Gelu, false}},
    {"swiglu", {Activation::Silu, true}},
    {"relu", {Activation::Relu, false}},
    {"squared-relu", {Activation::SquaredRelu, false}},
    {"geglu", {Activation::Gelu, true}},
}};
constexpr std::array<base::Named<bool>, 2> kMlaForms{{{"expanded", false}, {"absorbed", true}}};
constexpr std::array<base::Named<NormKind>, 2> kNorms{{
    {"layernorm", NormKind::Layer},
    {"rmsnorm", NormKind::Rms},
}};

Attention read_attention(base::Fields& f, Model& model) {
  Attention a;
  a.heads = f.integer("heads", 1, limits::kHeads);
  a.kv_heads = f.integer("kv_heads", 1, a.heads, a.heads);
  if (a.heads % a.kv_heads != 0)
    f.fail("kv_heads",
           std::to_string(a.kv_heads) + " does not divide " + std::to_string(a.heads) + " heads",
           "every key/value head serves the same number of query heads");
  if (!f.has("head_dim") && model.hidden % a.heads != 0)
    f.fail("heads",
           std::to_string(a.heads) + " does not divide hidden " + std::to_string(model.hidden),
           "state head_dim where it is not their ratio");
  a.head_dim = a.value_dim =
      f.integer("head_dim", 1, limits::kHeadDim, std::max<std::int64_t>(model.hidden / a.heads, 1));
  a.causal = f.flag("causal", true);
  a.subsequences = f.integer("subsequences", 1, 1024, 1);
  if (a.subsequences > 1 && a.causal)
    f.fail("subsequences", "causal attention in interleaved subsequences is not modelled",
           "causal: false");
  return a;
}

/// `unused`: every layer has experts in its place, which take its activation.
Mlp read_mlp(base::Fields& f, Model& model, bool unused) {
  const NamedActivation named = f.choice<NamedActivation>("activation", kActivations, {});
  if (!f.has("activation")) model.notes.push_back("activation not stated: gelu");
  if (unused) {
    if (f.has("ffn"))
      f.fail("ffn", "no layer has an MLP: all have experts",
             "experts.dense_layers, or leave it out");
    return {0, named.activation, named.gated, false};
  }
  if (!f.has("ffn") && named.gated)
    f.fail("ffn", "missing", "a gated MLP has no usual width: state it (8/3 of hidden is common)");
  if (!f.has("ffn"))
    model.notes.push_back("ffn not stated: 4 x hidden = " + std::to_string(4 * model.hidden));
  return {f.integer("ffn", 1, limits::kWidth, 4 * model.hidden), named.activation, named.gated,
          false};
}

/// `experts: {count, per_token, width}` in place of an MLP, in all layers but the first
/// `dense_layers`, which have one of `ffn`.
struct GivenExperts {
  Experts experts;
  std::int64_t dense_layers = 0;
};

GivenExperts read_experts(base::Fields f, std::int64_t layers) {
  GivenExperts given;
  Experts& e = given.experts;
  e.count = f.integer("count", 1, limits::kExperts);
  e.per_token = f.integer("per_token", 1, e.count);
  e.width = f.integer("width", 1, limits::kWidth);
  e.shared_width = f.integer("shared_width", 0, limits::kWidth, 0);
  e.shared_gate = f.flag("shared_gate", false);
  if (e.shared_gate && e.shared_width == 0)
    f.fail("shared_gate", "there is no shared expert to scale", "shared_width, or leave it out");
  e.router_bias = f.flag("router_bias", false);
  given.dense_layers = f.integer("dense_layers", 0, layers, 0);
  f.done();
  return given;
}

/// GPT-style defaults: MLP of 4 x hidden with GELU, layer norm and biases, tied embedding. A module
/// needs no vocabulary, and with `heads: 0` its layers are MLPs (projectors).
Model read_fields(base::Fields& f, ModelUse use) {
  const bool module = use == ModelUse::Module;
  Model model;
  model.family = "transformer";
  model.name = f.text("name", "");
  model.source = f.text("source", "");
  model.hidden = f.integer("hidden", 1, limits::kHidden);
  model.vocab =
      module ? f.integer("vocab", 0, limits::kVocab, 0) : f.integer("vocab", 1, limits::kVocab);
  model.positions = f.integer("positions", 0, limits::kVocab, 0);
  model.context = f.integer("context", 0, limits::kContext, model.positions);
  model.norm = f.choice<NormKind>("norm", kNorms, NormKind::Layer);
  if (!f.has("norm")) model.notes.push_back("norm not stated: layernorm");
  const bool bias = f.flag("bias", model.norm == NormKind::Layer);
  if (!f.has("bias"))
    model.notes.push_back(bias ? "bias not stated: on all projections" : "bias not stated: none");
  model.norm_bias = bias;
  model.tied = f.flag("tied", model.vocab > 0);
  if (!f.has("tied") && model.vocab > 0)
    model.notes.push_back("tied not stated: head and embedding are one matrix");
  model.embedding_norm = f.flag("embedding_norm", false);
  model.rotary = model.positions == 0;
  Layer layer;
  const bool mixes = !module || f.integer("heads", 0, limits::kHeads) > 0;
  if (mixes) layer.attention = read_attention(f, model);
  const std::int64_t layers = f.integer("layers", 1, limits::kLayers);
  std::optional<GivenExperts> given;
  if (f.has("experts")) given = read_experts(f.map("experts"), layers);
  layer.mlp = read_mlp(f, model, given && given->dense_layers == 0);
  layer.mlp.bias = layer.attention.qkv_bias = layer.attention.out_bias = bias;
  layer.parallel = f.flag("parallel", false);
  model.kinds = {layer};
  model.layers.assign(static_cast<std::size_t>(layers), 0);
  if (f.flag("skips", false)) {
    if (given) f.fail("skips", "experts and skip connections are not combined", "one of them");
    Layer joined = layer;
    joined.joins_skip = true;
    model.kinds.push_back(joined);
    std::fill(model.layers.begin() + (layers + 1) / 2, model.layers.end(), 1);
  }
  if (!given) return model;
  Layer sparse = layer;
  sparse.experts = given->experts;
  sparse.experts.expert_bias = bias;
  sparse.mlp.width = 0;
  if (given->dense_layers == 0) {
    model.kinds = {sparse};
    return model;
  }
  model.kinds.push_back(sparse);
  std::fill(model.layers.begin() + given->dense_layers, model.layers.end(), 1);
  return model;
}

/// `layers` and `vocab` beside a preset or config: published proxy runs cut models down.
void override_sizes(base::Fields& f, Model& model) {
  if (f.has("layers")) {
    const auto had = static_cast<std::int64_t>(model.layers.size());
    const std::int64_t layers = f.integer("layers", 1, had);
    if (layers != had)
      model.notes.push_back("cut to the first " + std::to_string(layers) + " of " +
                            std::to_string(had) + " layers");
    model.layers.resize(static_cast<std::size_t>(layers));
  }
  if (f.has("mla")) {
    const bool absorbed = f.choice<bool>("mla", kMlaForms, false);
    bool any = false;
    for (Layer& layer : model.kinds) {
      if (layer.attention.kind != AttentionKind::Latent) continue;
      layer.attention.absorbed = absorbed;
      any = true;
    }
    if (!any) f.fail("mla", "the model has no latent attention", "leave it out");
  }
  if (f.has("prediction_layers"))
    model.prediction_layers = static_cast<int>(f.integer("prediction_layers", 0, 64));
  if (f.has("vocab")) {
    const std::int64_t vocab = f.integer("vocab", 1, limits::kVocab);
    if (vocab != model.vocab)
      model.notes.push_back("vocabulary " + std::to_string(vocab) + " instead of " +
                            std::to_string(model.vocab));
    model.vocab = vocab;
  }
}

/// Weights are often given where their config belongs; a parser would only see broken text.
base::Document read_config_file(const std::string& path, const std::string& where) {
  const std::string hint = "give the model's config.json";
  constexpr std::array<std::string_view, 5> kWeights{".safetensors", ".gguf", ".bin", ".pt",
                                                     ".pth"};
  for (std::string_view ending : kWeights)
    if (path.ends_with(ending))
      throw base::Error(where, base::quote(path) + " holds weights", hint);
  std::string text;
  try {
    text = base::read_file(path);
  } catch (const base::Error& error) {
    throw base::Error(where, error.what());
  }
  if (text.starts_with("GGUF"))
    throw base::Error(where, base::quote(path) + " is a GGUF file", hint);
  return base::parse_json(text, path);
}

Model read_preset(const std::string& name, const std::string& where) {
  const base::Document document = base::read_document(spec_path("model", name, where));
  base::Fields f(document, document.root);
  f.text("summary", "");  // what lists show
  Model model;
  if (f.has("config")) {
    model = read_huggingface({document.file, f.at("config")});
    model.source = f.text("source");
  } else {
    f.text("source");  // presets must say where their numbers are from
    model = read_fields(f, ModelUse::Whole);
  }
  model.name = name;
  f.done();
  return model;
}

Model read_any(base::Fields& f, const std::string& folder, ModelUse use) {
  if (f.has("huggingface") && f.has("preset"))
    f.fail("preset", "stands beside huggingface", "give one of the two");
  if (!f.has("huggingface") && !f.has("preset")) return read_fields(f, use);
  Model model;
  if (f.has("preset")) {
    model = read_preset(f.text("preset"), f.where("preset"));
  } else {
    const std::string file = f.text("huggingface");
    const bool absolute = file.starts_with('/') || folder.empty();
    model = read_huggingface(
        read_config_file(absolute ? file : folder + "/" + file, f.where("huggingface")));
  }
  override_sizes(f, model);
  return model;
}

}  // namespace

Model read_model(base::Fields fields, const std::string& scenario_folder, ModelUse use) {
  Model model = read_any(fields, scenario_folder, use);
  fields.done();
  check_model(model, fields.where(""), use);
  return model;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/text.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {
namespace {

/// 6738415616 -> "6,738,415,616".
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n), out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string exact(std::int64_t n) {
  return grouped(n) + " (" + base::format_count(static_cast<double>(n)) + ")";
}

std::string_view text(Activation a, bool gated) {
  switch (a) {
    case Activation::Gelu:
      return gated ? "GeGLU" : "GELU";
    case Activation::Silu:
      return gated ? "SwiGLU" : "SiLU";
    case Activation::Relu:
      return gated ? "ReGLU" : "ReLU";
    case Activation::SquaredRelu:
      return gated ? "gated squared ReLU" : "squared ReLU";
  }
  return "";
}

std::string attention_text(const Attention& a) {
  std::string out;
  switch (a.kind) {
    case AttentionKind::Heads:
      out = std::to_string(a.heads) + " heads of " + std::to_string(a.head_dim);
      if (a.kv_heads != a.heads) out += ", " + std::to_string(a.kv_heads) + " for keys and values";
      break;
    case AttentionKind::Latent:
      out = std::to_string(a.heads) + " latent heads of " + std::to_string(a.nope_dim) + "+" +
            std::to_string(a.rope_dim) + ", rank " + std::to_string(a.kv_rank);
      break;
    case AttentionKind::Linear:
      out = std::to_string(a.value_heads) + " linear-attention heads of " +
            std::to_string(a.value_dim);
      break;
  }
  if (a.window > 0) out += ", window " + std::to_string(a.window);
  return out;
}

std::string layer_text(const Layer& layer) {
  std::string out = attention_text(layer.attention);
  const std::string_view activation = text(layer.mlp.activation, layer.mlp.gated);
  if (layer.mlp.width > 0)
    out += "; " + std::string(activation) + " of " + std::to_string(layer.mlp.width);
  const Experts& e = layer.experts;
  if (e.count > 0) {
    out += "; " + std::to_string(e.per_token) + " of " + std::to_string(e.count) + " experts (" +
           std::string(activation) + " of " + std::to_string(e.width) + ")";
    if (e.shared_width > 0) out += " and a shared one of " + std::to_string(e.shared_width);
  }
  return layer.parallel ? out + "; attention and MLP in parallel" : out;
}

std::string shape_text(const Model& m) {
  std::string out = m.name.empty() ? m.family : m.name + " (" + m.family + ")";
  out += ": " + std::to_string(m.layers.size()) + " layers, hidden " + std::to_string(m.hidden) +
         ", vocabulary " + std::to_string(m.vocab) + (m.tied ? " (tied)" : "");
  if (m.context > 0) out += ", context " + std::to_string(m.context);
  return out + "\n";
}

}  // namespace

std::string describe(const Model& model) {
  std::string out = shape_text(model);
  std::vector<int> uses(model.kinds.size(), 0);
  for (int kind : model.layers) ++uses[static_cast<std::size_t>(kind)];
  for (std::size_t k = 0; k < model.kinds.size(); ++k)
    out += "  " + std::to_string(uses[k]) + " x " + layer_text(model.kinds[k]) + "\n";
  const std::int64_t total = total_parameters(model), active = active_parameters(model);
  out += "  parameters: " + exact(total);
  if (active != total) out += ", active " + exact(active);
  out += "\n";
  const std::int64_t table = model.vocab * model.hidden;
  if (model.prediction_layers > 0)
    out +=
        "  with prediction layer: " + exact(total_parameters(model, true)) +
        "; with a copy of embedding and head in it: " +
        exact(total_parameters(model, true) + std::int64_t{2} * model.prediction_layers * table) +
        "\n";
  if (model.tied && model.embedding_dim == 0)
    out += "  where the tied head is stored once more: " + exact(total + table) + "\n";
  if (model.scale_block > 0)
    out +=
        "  FP8 block scales beside the weights: " + exact(checkpoint_scales(model, false)) + "\n";
  if (model.vision_parameters > 0)
    out += "  image tower beside it: " + exact(model.vision_parameters) + "\n";
  for (const std::string& note : model.notes) out += "  note: " + note + "\n";
  if (!model.source.empty()) out += "  source: " + model.source + "\n";
  return out;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/shape.hpp"

#include <algorithm>
#include <string>

namespace paceline::kernels::train {
namespace {

using models::Activation;
using models::Scenario;

constexpr std::int64_t kBytes = 256;  // values of a byte

void refuse_if(bool wrong, const Scenario& s, const char* key, const std::string& problem,
               const std::string& hint) {
  if (wrong) throw base::Error(models::where(s, key), problem, hint);
}

void check_model(const Scenario& s) {
  const models::Model& m = s.model;
  refuse_if(m.vocab < kBytes, s, "model.vocab",
            std::to_string(m.vocab) + " entries, training reads bytes", "at least 256");
  const struct {
    bool wrong;
    const char* what;
  } limits[] = {{m.embedding_dim != 0 && m.embedding_dim != m.hidden, "a narrower embedding"},
                {m.head_bias, "a bias of the head"},
                {m.prediction_layers > 0, "multi-token prediction"},
                {m.vision_parameters > 0, "an image tower"},
                {!m.norm_weight, "norms without weights"},
                {!m.rotary && m.positions == 0, "positions by ALiBi"},
                {m.extra_parameters > 0, "parameters of its own kind"}};
  for (const auto& limit : limits)
    refuse_if(limit.wrong, s, "model", std::string(limit.what) + " cannot be trained here",
              "a plain GPT or Llama model can");
  refuse_if(m.positions > 0 && m.positions < s.batch.sequence, s, "model.positions",
            std::to_string(m.positions) + " positions for sequences of " +
                std::to_string(s.batch.sequence) + " tokens",
            "at least batch.sequence");
}

void check_layer(const Scenario& s, const models::Layer& layer) {
  const models::Attention& a = layer.attention;
  const Activation activation = layer.mlp.activation;
  const bool gelu = activation == Activation::Gelu && !layer.mlp.gated;
  const bool swiglu = activation == Activation::Silu && layer.mlp.gated;
  const struct {
    bool wrong;
    const char* what;
  } limits[] = {
      {a.kind != models::AttentionKind::Heads, "latent or linear attention"},
      {layer.joins_skip, "skip connections"},
      {a.window > 0 && a.window < s.batch.sequence, "a sliding window"},
      {a.output_gate || a.shared_kv || a.reuses_kv || a.sinks, "gates, sinks or shared keys"},
      {a.qk_norm != models::QkNorm::None, "norms of queries and keys"},
      {a.value_dim != a.head_dim, "values narrower than keys"},
      {layer.experts.count > 0, "experts"},
      {layer.mlp.width == 0 || !(gelu || swiglu), "an MLP that is neither GELU nor SwiGLU"},
      {layer.parallel || layer.norms != 2, "a block that is not attention, then MLP, a norm each"},
      {layer.extra_parameters > 0, "parameters of its own kind"}};
  for (const auto& limit : limits)
    refuse_if(limit.wrong, s, "model", std::string(limit.what) + " cannot be trained here",
              "a plain GPT or Llama model can");
  refuse_if(a.head_dim % 8 != 0 || a.head_dim > 256, s, "model",
            "heads of " + std::to_string(a.head_dim) + " elements",
            "the attention kernels take multiples of 8 up to 256");
  refuse_if(a.kv_heads % s.parallel.tp != 0, s, "parallel.tp",
            std::to_string(s.parallel.tp) + " does not divide " + std::to_string(a.kv_heads) +
                " key/value heads",
            "training gives every rank its own");
}

void check_layout(const Scenario& s) {
  const models::Parallel& p = s.parallel;
  refuse_if(p.cp > 1, s, "parallel.cp", "context parallelism cannot be trained here", "cp: 1");
  refuse_if(p.ep > 1 || p.etp > 1, s, "parallel.ep", "experts cannot be trained here", "ep: 1");
  refuse_if(p.zero > 0, s, "parallel.zero", "sharded states cannot be trained here", "zero: 0");
  refuse_if(p.sequence_parallel, s, "parallel.sequence_parallel",
            "sequence parallelism cannot be trained here", "false");
  const bool parts =
      s.recompute == models::Recompute::Selective || s.recompute == models::Recompute::Blockwise;
  refuse_if(parts, s, "recompute", "recomputing parts of a stage cannot be trained here",
            "none or full");
  refuse_if(
      s.model.vocab % p.tp != 0, s, "parallel.tp",
      std::to_string(p.tp) + " does not divide a vocabulary of " + std::to_string(s.model.vocab),
      "pad the vocabulary");
  // The attention kernels count in 32 bits.
  refuse_if(s.batch.micro > (1 << 20) || s.batch.sequence > (1 << 24), s, "batch",
            "microbatches of " + std::to_string(s.batch.micro) + " sequences of " +
                std::to_string(s.batch.sequence) + " tokens",
            "training takes small ones");
}

LayerShape layer_shape(const models::Layer& layer, std::int64_t tp) {
  LayerShape shape;
  shape.heads = layer.attention.heads / tp;
  shape.kv_heads = layer.attention.kv_heads / tp;
  shape.head_dim = layer.attention.head_dim;
  shape.ffn = layer.mlp.width / tp;
  shape.gated = layer.mlp.gated;
  shape.qkv_bias = layer.attention.qkv_bias;
  shape.out_bias = layer.attention.out_bias;
  shape.mlp_bias = layer.mlp.bias;
  return shape;
}

}  // namespace

GptShape gpt_shape(const Scenario& scenario, int tensor_rank) {
  const models::Model& m = scenario.model;
  check_layout(scenario);
  check_model(scenario);
  GptShape shape;
  shape.hidden = m.hidden;
  shape.vocab = m.vocab;
  shape.positions = m.rotary ? 0 : m.positions;
  shape.tied = m.tied;
  shape.embedding_norm = m.embedding_norm;
  shape.final_norm = m.final_norm;
  shape.norm = m.norm;
  shape.norm_bias = m.norm == models::NormKind::Layer && m.norm_bias;
  shape.sequences = scenario.batch.micro;
  shape.sequence = scenario.batch.sequence;
  shape.tensor_ranks = scenario.parallel.tp;
  shape.tensor_rank = tensor_rank;
  shape.recompute = scenario.recompute == models::Recompute::Full;
  for (const int kind : m.layers) {
    const models::Layer& layer = m.kinds[static_cast<std::size_t>(kind)];
    check_layer(scenario, layer);
    shape.layers.push_back(layer_shape(layer, scenario.parallel.tp));
  }
  return shape;
}

}  // namespace paceline::kernels::train

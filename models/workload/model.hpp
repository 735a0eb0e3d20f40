// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace paceline::models {

enum class AttentionKind {
  Heads,   ///< multi-head, grouped-query (kv_heads < heads) and multi-query attention
  Latent,  ///< MLA: low-rank queries and keys/values (DeepSeek-V2, section 2.1)
  Linear,  ///< gated delta net or other recurrent mixer (Qwen3-Next)
};
enum class QkNorm { None, PerHead, Whole };
enum class NormKind { Rms, Layer };  ///< Layer has a bias unless said otherwise
enum class Activation { Gelu, Silu, Relu, SquaredRelu };

struct Attention {
  AttentionKind kind = AttentionKind::Heads;
  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0;   ///< of queries and keys; heads*head_dim need not equal hidden
  std::int64_t value_dim = 0;  ///< of values; equals head_dim except for MLA
  std::int64_t window = 0;     ///< sliding window or chunk in tokens; 0 = whole sequence
  bool qkv_bias = false, out_bias = false;
  bool output_gate = false;  ///< queries carry a gate of the same width (Qwen3-Next)
  bool shared_kv = false;    ///< keys double as values: no value projection
  bool reuses_kv = false;    ///< keys and values of an earlier layer: no projection of either
  bool sinks = false;        ///< one learned logit per head
  bool causal = true;        ///< false: every token attends to all (image and video encoders)
  /// Tokens fall into so many interleaved subsequences that attend to themselves alone (Skiparse);
  /// 1: none. Not with causal attention.
  std::int64_t subsequences = 1;
  QkNorm qk_norm = QkNorm::None;
  // MLA
  /// Queries take in the up-projection of the keys, outputs that of the values: every head attends
  /// to the latent itself (DeepSeek-V2, arXiv 2405.04434, section 2.1.2).
  bool absorbed = false;
  std::int64_t q_rank = 0, kv_rank = 0, rope_dim = 0, nope_dim = 0;
  // Linear
  std::int64_t key_heads = 0, value_heads = 0, conv = 0;
  bool operator==(const Attention&) const = default;
};

struct Mlp {
  std::int64_t width = 0;  ///< 0 = none
  Activation activation = Activation::Gelu;
  bool gated = false;  ///< up and gate projections (SwiGLU, GeGLU)
  bool bias = false;
  bool operator==(const Mlp&) const = default;
};

struct Experts {
  std::int64_t count = 0;  ///< routed experts; 0 = a dense layer
  std::int64_t per_token = 0;
  std::int64_t width = 0;         ///< of one routed expert
  std::int64_t shared_width = 0;  ///< all shared experts together
  bool shared_gate = false;       ///< one logit scales the shared expert (Qwen)
  bool router_bias = false;       ///< a learned or balancing bias per expert
  bool expert_bias = false;
  bool operator==(const Experts&) const = default;
};

/// One kind of layer; a model lists its layers by kind.
struct Layer {
  Attention attention;
  Mlp mlp;  ///< dense part; may stand beside experts
  Experts experts;
  int norms = 2;          ///< full-width norms of the block
  bool parallel = false;  ///< attention and MLP read the same input
  /// It also reads the output of the layer that lies as far from the beginning as it from the end:
  /// a projection of both to one comes first (U-ViT, arXiv 2209.12152, section 3.1).
  bool joins_skip = false;
  std::int64_t extra_parameters = 0;  ///< small named leftovers a family has (gates, scales)
  int number = 0;  ///< of one layer of this kind, where rules for codecs tell layers apart
  bool operator==(const Layer&) const = default;
};

struct Model {
  std::string name;
  std::string family;  ///< Hugging Face model_type, or "transformer" for explicit fields
  std::string source;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;  ///< rows of a learned position table; 0 = rotary or ALiBi
  /// narrower embedding with projections in and out (OPT-350M); 0 = hidden
  std::int64_t embedding_dim = 0;
  std::int64_t context = 0;  ///< longest sequence the config names; 0 = unknown
  bool tied = false;         ///< head and embedding are one matrix
  bool head_bias = false;
  bool final_norm = true;
  bool embedding_norm = false;  ///< a norm after the embedding (BLOOM)
  NormKind norm = NormKind::Layer;
  bool norm_bias = true;    ///< LayerNorm without bias exists (MPT, DBRX)
  bool norm_weight = true;  ///< a norm without learned values exists (OLMo 1)
  bool rotary = false;
  std::vector<Layer> kinds;
  std::vector<int> layers;    ///< kind of each layer, in order
  int prediction_layers = 0;  ///< multi-token-prediction layers after the last (kind of the last)
  std::int64_t vision_parameters = 0;  ///< image tower and projector, where they could be counted
  int scale_block = 0;  ///< FP8 checkpoints keep one scale per block x block weights; 0 = none
  std::int64_t extra_parameters = 0;
  /// what the config leaves out or was assumed: shown as assumptions
  std::vector<std::string> notes;
};

/// Skip connections over the boundary behind the first `below` layers: each of them is a tensor
/// that crosses it, unless its two ends share a device.
std::int64_t skips_over(const Model& model, std::int64_t below);

/// What the attention kernel computes of a layer: absorbed latent attention is that of one key head
/// as wide as the latent.
Attention core_of(const Attention& attention);

bool has_experts(const Model& model);
/// Parameters of the routed experts of one layer: those that expert parallelism deals out.
std::int64_t routed_parameters(const Model& model, const Layer& layer);
/// Of one layer on one rank: routed experts over the ranks that share them, the rest over tp.
struct HeldParameters {
  double dense = 0, experts = 0;
  double sum() const { return dense + experts; }
};
HeldParameters held_parameters(const Model& model, const Layer& layer, int tp, int expert_ranks);
/// Parameters of one layer, of its part that every token uses, and of the parts of the ends.
std::int64_t layer_parameters(const Model& model, const Layer& layer);
std::int64_t active_layer_parameters(const Model& model, const Layer& layer);
std::int64_t embedding_parameters(const Model& model);  ///< tokens, positions, projections in
/// The matrix from hidden to vocabulary and its bias: 0 when tied, but for a projection to a
/// narrower embedding. The final norm is not counted.
std::int64_t head_parameters(const Model& model);
/// The language model. Prediction layers are trained beside it and dropped afterwards.
std::int64_t total_parameters(const Model& model, bool with_prediction_layers = false);
/// Those one token uses: the total without the routed experts it is not sent to.
std::int64_t active_parameters(const Model& model);
/// The kind that multi-token-prediction layers have, too.
inline const Layer& last_layer(const Model& model) {
  return model.kinds[static_cast<std::size_t>(model.layers.back())];
}
/// One multi-token-prediction layer: a layer of the last kind, the projection of the two inputs and
/// three norms (DeepSeek-V3, section 2.2). Its embedding and head are those of the model.
std::int64_t prediction_layer_parameters(const Model& model);
/// Block scales an FP8 checkpoint keeps beside its weights; 0 without Model::scale_block.
std::int64_t checkpoint_scales(const Model& model, bool with_prediction_layers);

/// A whole language model, or a module of one: that may lack a vocabulary, and attention.
enum class ModelUse { Whole, Module };

/// A Hugging Face config.json as downloaded. Unknown architectures: an Error listing the supported
/// model types. Keys that do not matter are ignored; keys that change the count are not guessed.
Model read_huggingface(const base::Document& document);
/// `huggingface: file.json` (relative to the scenario), `preset: gpt3-175b`, or explicit fields
/// (hidden, layers, heads, kv_heads, head_dim, ffn, activation, vocab, positions, norm, tied, bias,
/// causal, parallel). `layers` and `vocab` beside the first two cut or resize the model.
Model read_model(base::Fields fields, const std::string& scenario_folder,
                 ModelUse use = ModelUse::Whole);
/// Model types read_huggingface knows.
std::vector<std::string> supported_model_types();

/// An Error when a size is not positive, heads do not fit, a layer names no kind, or the model has
/// more than 10^16 parameters. Every count above is exact for a model that passes.
void check_model(const Model& model, const std::string& where, ModelUse use = ModelUse::Whole);
/// Shape, parameters (total and active) and notes in a few lines, for `list` and `check`.
std::string describe(const Model& model);

}  // namespace paceline::models

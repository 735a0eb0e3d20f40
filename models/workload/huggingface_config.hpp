// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "models/workload/limits.hpp"
#include "models/workload/model.hpp"

/// Inner header of the Hugging Face readers: a lenient view of one config and the steps that most
/// families share. Unlike base::Fields it ignores unknown keys, knows that one size has several
/// names, and remembers which class defaults it filled in.
namespace paceline::models::huggingface {

/// Names of one value, the preferred first. Two of them with different values are an Error.
using Keys = std::initializer_list<std::string_view>;
using Size = std::int64_t;

class Config {
 public:
  Config(const base::Document& document, const base::Value& map, std::string path,
         std::string type);

  const std::string& type() const { return type_; }
  const std::vector<std::string>& defaulted() const { return defaulted_; }

  const base::Value* find(std::string_view key) const;  ///< null when absent; may be a Null value
  bool given(Keys keys) const;                          ///< present and not null
  bool null(std::string_view key) const;                ///< present and null
  /// 1 (or `low`) to `high`. Absent or null takes the fallback and notes it; without one: an Error.
  Size size(Keys keys, Size high, std::optional<Size> fallback = {}, Size low = 1);
  bool flag(Keys keys, bool fallback);
  bool required_flag(std::string_view key);
  double number(std::string_view key, double fallback);  ///< finite
  std::string text(Keys keys, std::string_view fallback);
  std::vector<std::string> texts(std::string_view key) const;  ///< absent or null = empty
  std::vector<Size> integers(std::string_view key) const;      ///< absent or null = empty
  std::optional<Config> map(std::string_view key) const;       ///< absent or null = none
  /// `file:line:column: path.key`.
  std::string where(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string& problem,
                         const std::string& hint = "") const;
  void note_default(std::string_view key, const std::string& value);

 private:
  const base::Value* pick(Keys keys, std::string_view& used) const;
  const base::Document* document_;
  const base::Value* map_;
  std::string path_, type_;
  std::vector<std::string> defaulted_;
};

/// A config and the one around it: `text_config` inside a model of text and images.
struct Input {
  Config text;   ///< where the sizes of the language model stand
  Config outer;  ///< the whole file; the same as `text` when nothing is nested
};

/// Class defaults of one model type, from configuration_<type>.py of transformers. 0: the class has
/// none and the key is required (vocab, ffn, heads), or the value follows from others (kv_heads =
/// heads, head_dim = hidden / heads). kUnread: the family states the value in its own way.
inline constexpr Size kFourHidden = -1, kUnread = -2;
struct Defaults {
  Size vocab = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, context = 0;
  bool tied = false;
  std::string_view activation = "silu";
};

/// Sizes nearly every config states.
struct Sizes {
  Size hidden = 0, layers = 0, vocab = 0, ffn = 0, context = 0;
  Attention attention;  ///< heads, kv_heads, head_dim, value_dim
  Activation activation = Activation::Silu;
  bool tied = false;
};
Sizes read_sizes(Input& in, const Defaults& defaults);

Activation activation_named(const Config& config, std::string_view key, const std::string& name);
/// `tie_word_embeddings`, looked up in the outer config first, as transformers does.
bool read_tied(Input& in, bool fallback);
/// The model without layers: sizes of the ends, norm kind, family.
Model start(const Input& in, const Sizes& sizes, NormKind norm);
/// RMS-norm block with a gated MLP and no bias, the common case.
Layer gated_layer(const Sizes& sizes);
/// `count` equal layers.
void repeat(Model& model, const Layer& layer, Size count);
/// One layer more; equal kinds are kept once.
void append(Model& model, const Layer& layer);

/// Kind of each layer from `layer_types`, or `fallback(i)` where the key is absent. Names other
/// than those in `known` are an Error; so is a list of another length than the layers.
std::vector<std::string> read_layer_types(const Config& config, Size layers, Keys known,
                                          std::string_view (*fallback)(Size index, Size pattern),
                                          Size pattern);
/// "sliding_attention" in all but every pattern-th layer.
std::string_view sliding_but_every(Size index, Size pattern);
std::string_view all_full(Size index, Size pattern);
/// All layers of a model whose kinds differ only in whether they see `window` tokens
/// ("sliding_attention") or everything ("full_attention").
void append_windowed(Model& model, const Config& config, Size layers, Layer layer, Size window,
                     std::string_view (*fallback)(Size index, Size pattern), Size pattern);

// One reader for each group of model types.
Model read_llama_like(Input& in);
Model read_phi(Input& in);
Model read_cohere(Input& in);
Model read_olmo(Input& in);
Model read_gemma(Input& in);
Model read_gemma4(Input& in);
Model read_gpt2(Input& in);
Model read_gpt_neox(Input& in);
Model read_gptj(Input& in);
Model read_falcon(Input& in);
Model read_mpt(Input& in);
Model read_bloom(Input& in);
Model read_opt(Input& in);
Model read_glm(Input& in);
Model read_chatglm(Input& in);
Model read_mixtral(Input& in);
Model read_qwen_moe(Input& in);
Model read_qwen3_next(Input& in);
Model read_dbrx(Input& in);
Model read_gpt_oss(Input& in);
Model read_llama4(Input& in);
Model read_deepseek(Input& in);
Model read_glm4_moe(Input& in);
Model read_grok(Input& in);

/// Image tower and projector of `vision_config`; 0 and a note where the tower is not known.
void read_vision(Input& in, Model& model);

}  // namespace paceline::models::huggingface

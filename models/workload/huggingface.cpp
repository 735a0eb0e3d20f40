// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>

#include "base/message.hpp"
#include "models/workload/huggingface_config.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {
namespace {

using namespace huggingface;

struct Reader {
  std::string_view type;  ///< model_type as configs write it
  Model (*read)(Input&);
  std::string_view as = "";  ///< read like this type; empty: like itself
};

constexpr std::array kReaders{
    Reader{"RefinedWeb", read_falcon},
    Reader{"RefinedWebModel", read_falcon},
    Reader{"Yi", read_llama_like},
    Reader{"arcee", read_llama_like},
    Reader{"baichuan", read_llama_like},
    Reader{"bloom", read_bloom},
    Reader{"chatglm", read_chatglm},
    Reader{"codegen", read_gptj},
    Reader{"cohere", read_cohere},
    Reader{"cohere2", read_cohere},
    Reader{"dbrx", read_dbrx},
    Reader{"deepseek", read_deepseek},
    Reader{"deepseek_v2", read_deepseek},
    Reader{"deepseek_v3", read_deepseek},
    Reader{"deepseek_v32", read_deepseek},
    Reader{"falcon", read_falcon},
    Reader{"gemma", read_gemma},
    Reader{"gemma2", read_gemma},
    Reader{"gemma3", read_gemma, "gemma3_text"},
    Reader{"gemma3_text", read_gemma},
    Reader{"gemma4", read_gemma4, "gemma4_text"},
    Reader{"gemma4_text", read_gemma4},
    Reader{"glm", read_glm},
    Reader{"glm4", read_glm},
    Reader{"glm4_moe", read_glm4_moe},
    Reader{"glm4_moe_lite", read_deepseek},
    Reader{"gpt2", read_gpt2},
    Reader{"gpt_bigcode", read_gpt2},
    Reader{"gpt_neo", read_gpt2},
    Reader{"gpt_neox", read_gpt_neox},
    Reader{"gpt_oss", read_gpt_oss},
    Reader{"gptj", read_gptj},
    Reader{"granite", read_llama_like},
    Reader{"granitemoe", read_mixtral},
    Reader{"grok", read_grok, "grok-1"},
    Reader{"grok-1", read_grok},
    Reader{"internlm", read_llama_like},
    Reader{"internlm2", read_llama_like},
    Reader{"kimi_k2", read_deepseek},
    Reader{"llama", read_llama_like},
    Reader{"llama4", read_llama4, "llama4_text"},
    Reader{"llama4_text", read_llama4},
    Reader{"mistral", read_llama_like},
    Reader{"mixtral", read_mixtral},
    Reader{"mpt", read_mpt},
    Reader{"nemotron", read_llama_like},
    Reader{"olmo", read_olmo},
    Reader{"olmo2", read_olmo},
    Reader{"olmo3", read_olmo},
    Reader{"olmoe", read_mixtral},
    Reader{"opt", read_opt},
    Reader{"phi", read_phi},
    Reader{"phi3", read_llama_like},
    Reader{"phimoe", read_mixtral},
    Reader{"qwen2", read_llama_like},
    Reader{"qwen2_5_vl", read_llama_like, "qwen2"},
    Reader{"qwen2_5_vl_text", read_llama_like, "qwen2"},
    Reader{"qwen2_moe", read_qwen_moe},
    Reader{"qwen2_vl", read_llama_like, "qwen2"},
    Reader{"qwen2_vl_text", read_llama_like, "qwen2"},
    Reader{"qwen3", read_llama_like},
    Reader{"qwen3_moe", read_qwen_moe},
    Reader{"qwen3_next", read_qwen3_next},
    Reader{"qwen3_vl", read_llama_like, "qwen3_vl_text"},
    Reader{"qwen3_vl_moe", read_qwen_moe, "qwen3_vl_moe_text"},
    Reader{"qwen3_vl_moe_text", read_qwen_moe},
    Reader{"qwen3_vl_text", read_llama_like},
    Reader{"seed_oss", read_llama_like},
    Reader{"smollm3", read_llama_like},
    Reader{"stablelm", read_llama_like},
    Reader{"starcoder2", read_llama_like},
};

const Reader* reader_of(std::string_view type) {
  for (const Reader& reader : kReaders)
    if (reader.type == type) return &reader;
  return nullptr;
}

/// Known architectures that no reader covers, by the reason.
constexpr std::array<std::string_view, 14> kRecurrent{
    "bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "lfm2",
    "mamba", "mamba2",    "nemotron_h",   "recurrent_gemma",  "rwkv",  "rwkv5",
    "zamba", "zamba2"};
constexpr std::array<std::string_view, 10> kEncoders{
    "albert", "bart", "bert", "deberta", "mbart", "modernbert", "mt5", "roberta", "t5", "whisper"};

bool listed(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void unknown_type(const Config& config, const std::string& type) {
  const std::vector<std::string> types = supported_model_types();
  std::string problem = "unknown architecture " + base::quote(type);
  if (listed(kRecurrent, type))
    problem = base::quote(type) + " has state-space or recurrent layers, which are not supported";
  if (listed(kEncoders, type))
    problem = base::quote(type) + " is no decoder; only decoders are supported";
  const std::string close = base::nearest(type, types);
  std::string hint =
      close.empty() ? "supported: " : "did you mean " + base::quote(close) + "? supported: ";
  for (std::size_t i = 0; i < types.size(); ++i) hint += (i > 0 ? ", " : "") + types[i];
  config.fail("model_type", problem, hint);
}

/// Files people mistake for a config, told by a key that only they have.
struct Mistaken {
  std::string_view key, what;
};
constexpr std::array kMistaken{
    Mistaken{"peft_type", "an adapter (LoRA) config; give the config.json of its base model"},
    Mistaken{"weight_map", "an index of safetensors files; give the config.json beside it"},
    Mistaken{"general.architecture", "GGUF metadata; give the config.json of the original model"},
    Mistaken{"added_tokens_decoder", "a tokenizer config; give the config.json beside it"},
    Mistaken{"added_tokens", "a tokenizer; give the config.json beside it"},
    Mistaken{"chat_template", "a tokenizer config; give the config.json beside it"},
    Mistaken{"_from_model_config", "a generation config; give the config.json beside it"},
    Mistaken{"do_sample", "a generation config; give the config.json beside it"},
    Mistaken{"_class_name", "a diffusers config; only language models are supported"},
    Mistaken{"image_processor_type", "a processor config; give the config.json beside it"},
    Mistaken{"__metadata__", "a safetensors header; give the config.json beside it"},
    Mistaken{"ffn_dim_multiplier",
             "Meta's params.json; give the config.json of the converted model"},
    Mistaken{"train_batch_size", "a DeepSpeed config; give the model's config.json"},
};

std::string read_type(Config& config, const base::Document& document) {
  if (config.given({"model_type"})) return config.text({"model_type"}, "");
  for (const Mistaken& m : kMistaken)
    if (config.find(m.key) != nullptr)
      throw base::Error(document.file, "this is " + std::string(m.what));
  config.fail("model_type", "missing", "a Hugging Face config.json names its architecture there");
}

/// The language model's part: the file itself, or its text_config.
Input open(const base::Document& document) {
  if (document.root.kind != base::Value::Kind::Map)
    throw base::Error(document.file, "not a config.json",
                      "a Hugging Face config is one JSON object");
  Config outer(document, document.root, "", "model");
  const std::string type = read_type(outer, document);
  outer = Config(document, document.root, "", type);
  std::string text_type = type;
  std::optional<Config> text = outer.map("text_config");
  if (text && text->given({"model_type"})) text_type = text->text({"model_type"}, "");
  const Reader* reader = reader_of(text_type);
  if (reader == nullptr) unknown_type(text ? *text : outer, text_type);
  const std::string as(reader->as.empty() ? reader->type : reader->as);
  if (!text) return {Config(document, document.root, "", as), outer};
  return {Config(document, *outer.find("text_config"), "text_config", as), outer};
}

void read_scale_block(Input& in, Model& model) {
  std::optional<Config> q = in.outer.map("quantization_config");
  if (!q) q = in.text.map("quantization_config");
  if (!q || q->text({"quant_method"}, "") != "fp8") return;
  const std::vector<Size> block = q->integers("weight_block_size");
  if (block.size() == 2 && block[0] == block[1] && block[0] > 0 && block[0] <= 65536)
    model.scale_block = static_cast<int>(block[0]);
}

/// "tiiuae/falcon-40b" -> "falcon-40b"; otherwise the file's name without its extension.
std::string read_name(Config& config, const std::string& file) {
  std::string name = file.substr(0, file.rfind('.'));
  for (std::string_view key : {"_name_or_path", "name_or_path"})
    if (config.given({key}) && !config.text({key}, "").empty()) name = config.text({key}, "");
  while (!name.empty() && (name.back() == '/' || name.back() == '\\')) name.pop_back();
  return base::one_line(name.substr(name.find_last_of("/\\") + 1), 80);
}

void note_defaults(const Input& in, Model& model) {
  if (in.text.defaulted().empty()) return;
  std::string note = "class defaults of " + in.text.type() + " for missing keys: ";
  for (std::size_t i = 0; i < in.text.defaulted().size(); ++i)
    note += (i > 0 ? ", " : "") + in.text.defaulted()[i];
  model.notes.push_back(note);
}

}  // namespace

Model read_huggingface(const base::Document& document) {
  Input in = open(document);
  const Reader* reader = reader_of(in.text.type());
  if (in.outer.given({"is_encoder_decoder"}) && in.outer.flag({"is_encoder_decoder"}, false))
    in.outer.fail("is_encoder_decoder", "is true", "only decoders are supported");
  Model model = reader->read(in);
  read_scale_block(in, model);
  model.name = read_name(in.outer, document.file);
  if (model.name == "config") model.name = model.family;
  model.source = document.file;
  note_defaults(in, model);
  check_model(model, document.file);
  read_vision(in, model);
  return model;
}

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  types.reserve(kReaders.size());
  for (const Reader& reader : kReaders) types.emplace_back(reader.type);
  return types;
}

}  // namespace paceline::models

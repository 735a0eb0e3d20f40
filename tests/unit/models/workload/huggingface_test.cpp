// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/workload/model.hpp"
#include "tests/unit/models/workload/noted.hpp"

using namespace paceline;
using models::Model;
using tests::contains;
using tests::noted;

namespace {

Model read_json(const std::string& json) {
  return models::read_huggingface(base::parse_json(json, "config.json"));
}

std::string json_error(const std::string& json) {
  try {
    read_json(json);
  } catch (const base::Error& e) {
    return e.what();
  }
  return "";
}

/// A small Llama with one key replaced or added.
std::string llama(const std::string& key = "", const std::string& value = "") {
  const std::vector<std::pair<std::string, std::string>> keys{
      {"model_type", "\"llama\""},  {"hidden_size", "64"},        {"num_hidden_layers", "2"},
      {"num_attention_heads", "4"}, {"num_key_value_heads", "2"}, {"intermediate_size", "96"},
      {"vocab_size", "100"}};
  std::string out = "{";
  bool replaced = key.empty();
  for (const auto& [k, v] : keys) {
    if (k == key && value.empty()) {  // left out
      replaced = true;
      continue;
    }
    out += (out.size() > 1 ? ",\n\"" : "\n\"") + k + "\": " + (k == key ? value : v);
    replaced = replaced || k == key;
  }
  if (!replaced) out += ",\n\"" + key + "\": " + value;
  return out + "\n}";
}

}  // namespace

TEST_CASE("uniform models keep one kind of layer", "[models][huggingface]") {
  const Model model = read_json(llama());
  CHECK(model.kinds.size() == 1);
  CHECK(model.layers == std::vector<int>{0, 0});
  CHECK(model.kinds[0].attention.kv_heads == 2);
  CHECK(model.kinds[0].mlp.gated);
  CHECK(model.norm == models::NormKind::Rms);
}

TEST_CASE("missing keys take the class default and say so", "[models][huggingface]") {
  const Model model = read_json(llama("vocab_size"));
  CHECK(model.vocab == 32000);
  CHECK(noted(model, "class defaults of llama"));
  CHECK(noted(model, "vocab_size = 32000"));
  CHECK(noted(model, "tie_word_embeddings = false"));
  CHECK_FALSE(noted(model, "hidden_size"));
}

TEST_CASE("tied embeddings default as each class does", "[models][huggingface]") {
  CHECK_FALSE(read_json(llama()).tied);
  CHECK(read_json(llama("tie_word_embeddings", "true")).tied);
  CHECK(read_json(llama("model_type", "\"gemma2\"")).tied);
  CHECK(read_json(R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":4})").tied);
  CHECK_FALSE(read_json(llama("model_type", "\"gpt_neox\"")).tied);
}

TEST_CASE("null means unset: as many key/value heads as heads, MLP of four times hidden",
          "[models][huggingface]") {
  CHECK(read_json(llama("num_key_value_heads", "null")).kinds[0].attention.kv_heads == 4);
  const Model gpt = read_json(
      R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":4,"n_inner":null,"vocab_size":10})");
  CHECK(gpt.kinds[0].mlp.width == 256);
  CHECK(gpt.positions == 1024);
}

TEST_CASE("the head dimension need not be hidden over heads", "[models][huggingface]") {
  CHECK(read_json(llama("head_dim", "32")).kinds[0].attention.head_dim == 32);
  CHECK(read_json(llama()).kinds[0].attention.head_dim == 16);
  CHECK(
      contains(json_error(llama("hidden_size", "65")), "4 heads do not divide the hidden size 65"));
}

TEST_CASE("the language model of a multimodal config is its text_config", "[models][huggingface]") {
  const Model model = read_json(R"({"model_type": "qwen3_vl", "tie_word_embeddings": true,
    "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96,
    "vocab_size": 100}, "vision_config": {"depth": 3}})");
  CHECK(model.family == "qwen3_vl");
  CHECK(model.hidden == 64);
  CHECK(model.tied);
  CHECK(noted(model, "image tower is neither counted nor modelled"));
  CHECK(contains(json_error(R"({"model_type": "qwen3_vl", "text_config": [1]})"),
                 "text_config: is a list; must be an object"));
}

TEST_CASE("layer kinds follow layer_types, windows included", "[models][huggingface]") {
  const Model model =
      read_json(R"({"model_type": "olmo3", "hidden_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100, "sliding_window": 32})");
  REQUIRE(model.kinds.size() == 2);
  CHECK(model.layers == std::vector<int>{0, 0, 0, 1});
  CHECK(model.kinds[0].attention.window == 32);
  CHECK(model.kinds[1].attention.window == 0);
  const std::string three = R"({"model_type": "olmo3", "hidden_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "layer_types": ["full_attention", "full_attention", "mamba"]})";
  CHECK(contains(json_error(three), "lists 3 layers, but the model has 4"));
}

TEST_CASE("dense layers come first in DeepSeek's mixtures", "[models][huggingface]") {
  const Model model = read_json(R"({"model_type": "deepseek_v2", "hidden_size": 64,
    "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100,
    "q_lora_rank": null, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 8, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 2,
    "moe_intermediate_size": 16, "first_k_dense_replace": 1})");
  CHECK(model.layers == std::vector<int>{0, 1, 1});
  CHECK(model.kinds[0].experts.count == 0);
  CHECK(model.kinds[0].mlp.width == 96);
  CHECK(model.kinds[1].mlp.width == 0);
  CHECK(model.kinds[1].experts.shared_width == 32);
  CHECK(model.kinds[1].attention.q_rank == 0);
}

TEST_CASE("two names of one size must agree", "[models][huggingface]") {
  CHECK(json_error(llama("n_layer", "2")).empty());
  CHECK(contains(json_error(llama("n_layer", "3")), "n_layer: is 3, but num_hidden_layers is 2"));
}

TEST_CASE("an unknown architecture lists the supported ones and the nearest",
          "[models][huggingface]") {
  const std::string message = json_error(llama("model_type", "\"lama\""));
  CHECK(contains(message, "config.json:2:15: model_type: unknown architecture 'lama'"));
  CHECK(contains(message, "did you mean 'llama'?"));
  CHECK(contains(message, "deepseek_v3"));
  CHECK(contains(message, "qwen3_next"));
  for (const std::string& type : models::supported_model_types()) CHECK(contains(message, type));
  CHECK(contains(json_error(llama("model_type", "\"mamba2\"")), "state-space or recurrent layers"));
  CHECK(contains(json_error(llama("model_type", "\"bert\"")), "only decoders are supported"));
}

TEST_CASE("files that are no model config say what they are", "[models][huggingface]") {
  CHECK(contains(json_error(R"({"peft_type": "LORA", "r": 8})"), "an adapter (LoRA) config"));
  CHECK(contains(json_error(R"({"metadata": {}, "weight_map": {}})"),
                 "an index of safetensors files"));
  CHECK(contains(json_error(R"({"added_tokens_decoder": {}})"), "a tokenizer config"));
  CHECK(contains(json_error(R"({"_from_model_config": true})"), "a generation config"));
  CHECK(contains(json_error(R"({"general.architecture": "llama"})"), "GGUF metadata"));
  CHECK(contains(json_error("{}"), "model_type: missing"));
  CHECK(contains(json_error("[1, 2]"), "not a config.json"));
  CHECK(contains(json_error("null"), "not a config.json"));
  CHECK(contains(json_error("\"llama\""), "not a config.json"));
}

TEST_CASE("hostile values give one line with the place", "[models][huggingface]") {
  const std::vector<std::string> sizes{"hidden_size",         "num_hidden_layers",
                                       "num_attention_heads", "num_key_value_heads",
                                       "intermediate_size",   "vocab_size"};
  const std::vector<std::string> values{"-1",
                                        "0",
                                        "1e30",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "\"64\"",
                                        "\"\"",
                                        "true",
                                        "[64]",
                                        "{}",
                                        "1.5",
                                        "-1e308",
                                        "[]",
                                        "\"NaN\""};
  for (const std::string& key : sizes) {
    for (const std::string& value : values) {
      const std::string message = json_error(llama(key, value));
      INFO(key << " = " << value << ": " << message);
      CHECK(contains(message, "config.json:"));
      CHECK(contains(message, key));
      CHECK_FALSE(contains(message, "\n"));
    }
  }
}

TEST_CASE("broken files are errors, not crashes", "[models][huggingface]") {
  const std::string whole = llama();
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(json_error(whole.substr(0, length)).empty());
  CHECK_FALSE(json_error(std::string(100000, '[')).empty());
  std::string nested = "{\"model_type\": \"llama\", \"text_config\": ";
  for (int i = 0; i < 5000; ++i) nested += "{\"text_config\": ";
  CHECK_FALSE(json_error(nested).empty());
  CHECK_FALSE(json_error(llama("hidden_size", "NaN")).empty());
  CHECK_FALSE(json_error(llama("hidden_size", "Infinity")).empty());
}

TEST_CASE("the largest sizes allowed do not overflow, and are too much", "[models][huggingface]") {
  const std::string message = json_error(R"({"model_type": "mixtral", "hidden_size": 1048576,
    "num_hidden_layers": 10000, "num_attention_heads": 65536, "num_key_value_heads": 65536,
    "head_dim": 65536, "intermediate_size": 16777216, "num_local_experts": 32768,
    "num_experts_per_tok": 32768, "vocab_size": 16777216})");
  CHECK(contains(message, "more than 10^16 parameters"));
}

TEST_CASE("keys that change the count are not guessed", "[models][huggingface]") {
  CHECK(contains(
      json_error(R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100})"),
      "missing; a deepseek_v3 config must state it"));
  CHECK(contains(
      json_error(R"({"model_type": "baichuan", "hidden_size": 64, "num_hidden_layers": 2})"),
      "vocab_size: missing"));
  CHECK(contains(json_error(llama("hidden_act", "\"softplus\"")), "unknown activation 'softplus'"));
  CHECK(contains(json_error(llama("attention_bias", "1")), "must be true or false"));
  CHECK(contains(json_error(llama("is_encoder_decoder", "true")), "only decoders are supported"));
}

TEST_CASE("every supported type reads a plain config or asks for what it needs",
          "[models][huggingface]") {
  for (const std::string& type : models::supported_model_types()) {
    INFO(type);
    const std::string message = json_error(llama("model_type", "\"" + type + "\""));
    CHECK((message.empty() || contains(message, "missing") || contains(message, "not supported")));
  }
}

TEST_CASE("a model is cheap to copy", "[models]") {
  CHECK(sizeof(Model) <= 512);
  CHECK(sizeof(models::Layer) <= 320);
}

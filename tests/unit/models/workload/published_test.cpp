// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "models/workload/model.hpp"

using namespace paceline;

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 60;

double ratio(std::int64_t value, std::int64_t published) {
  return static_cast<double>(value) / static_cast<double>(published);
}

/// What a published total counts beyond the language model, where it does. Every other exact total
/// is the language model alone.
std::int64_t counted_beside(const std::string& name, const models::Model& model) {
  const std::int64_t prediction =
      models::total_parameters(model, true) - models::total_parameters(model);
  // The image tower, whose vision_config the stored config lacks: Maverick has the same tower and
  // states it (published.yaml, Llama-4-Scout).
  if (name == "Llama-4-Scout-17B-16E-Instruct") return 871932416;
  if (name == "Qwen3-Next-80B-A3B") return prediction;
  // The prediction layer with an embedding and a head of its own; GLM-4.6 lacks the copies.
  if (name == "GLM-4.5") return prediction + 2 * model.vocab * model.hidden;
  // 56 values in each of 61 layers that are no weights of the architecture; Kimi-K2-Instruct-0905
  // stores 128, Kimi-K2-Base these and the block scales.
  if (name == "Kimi-K2-Instruct") return 3416;
  return 0;
}

}  // namespace

TEST_CASE("the parameter count of every published config equals the published figure",
          "[models][huggingface]") {
  const base::Document document =
      base::read_document(PACELINE_SOURCE "/tests/data/models/published.yaml");
  base::Fields file(document, document.root);
  int exact = 0;
  for (const base::Value& item : file.list("models")) {
    base::Fields row = file.view(item, "models");
    const std::string name = row.text("name");
    INFO(name << ", source: " << row.text("source") << ", note: " << row.text("note", ""));
    const models::Model model = models::read_huggingface({document.file, row.at("config")});
    if (row.has("total")) {
      ++exact;
      CHECK(models::total_parameters(model) == row.integer("total", 1, kMost));
    } else {
      CHECK(ratio(models::total_parameters(model), row.integer("rounded", 1, kMost)) ==
            Approx(1).margin(0.01));
    }
    if (row.has("with_prediction_layers"))
      CHECK(models::total_parameters(model, true) ==
            row.integer("with_prediction_layers", 1, kMost));
    if (row.has("vision")) CHECK(model.vision_parameters == row.integer("vision", 1, kMost));
    if (row.has("active"))
      CHECK(ratio(models::active_parameters(model), row.integer("active", 1, kMost)) ==
            Approx(1).margin(0.05));
    row.done();
  }
  CHECK(exact >= 140);
}

TEST_CASE("DeepSeek-V3's published checkpoint is the model, its prediction layer and the scales",
          "[models][huggingface]") {
  const models::Model model =
      models::read_huggingface(base::parse_json(R"({"model_type": "deepseek_v3",
    "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "vocab_size": 129280,
    "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})",
                                                "deepseek-v3.json"));
  // BF16 3918786560 + F8_E4M3 680571043840 + F32 41555600 of the Hub's safetensors metadata.
  const std::int64_t copies = 2 * model.vocab * model.hidden;  // embedding and head once more
  CHECK(models::total_parameters(model, true) + copies + models::checkpoint_scales(model, true) ==
        684531386000);
}

TEST_CASE("configs as downloaded give the published counts", "[models][huggingface]") {
  // Configs have licences of their own and are not part of the tree. PACELINE_CONFIGS names a
  // folder with models.yaml (models: [{name, file, total, exact}]) and the files it lists in
  // models/.
  const char* given = std::getenv("PACELINE_CONFIGS");
  if (given == nullptr) return;
  const std::filesystem::path folder = given;
  const base::Document list = base::read_document((folder / "models.yaml").string());
  base::Fields file(list, list.root);
  for (const base::Value& item : file.list("models")) {
    base::Fields row = file.view(item, "models");
    const std::string name = row.text("name");
    INFO(name);
    const models::Model model = models::read_huggingface(
        base::read_document((folder / "models" / row.text("file")).string()));
    const std::int64_t published = row.integer("total", 1, kMost);
    const std::int64_t counted = models::total_parameters(model) + counted_beside(name, model);
    if (row.flag("exact"))
      CHECK(counted == published);
    else
      CHECK(ratio(counted, published) == Approx(1).margin(0.055));
  }
}

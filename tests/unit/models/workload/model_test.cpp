// SPDX-License-Identifier: Apache-2.0
#include "models/workload/model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "models/hardware/device.hpp"
#include "tests/unit/models/workload/noted.hpp"

using namespace paceline;
using models::Model;
using tests::contains;
using tests::noted;

namespace {

Model read(const std::string& yaml, const std::string& folder = "") {
  const base::Document document = base::parse_yaml("model: {" + yaml + "}", "scenario.yaml");
  return models::read_model(base::Fields(document, document.root).map("model"), folder);
}

std::string error(const std::string& yaml, const std::string& folder = "") {
  try {
    read(yaml, folder);
  } catch (const base::Error& e) {
    return e.what();
  }
  return "";
}

const std::string kSmall = "hidden: 64, layers: 3, heads: 4, vocab: 100";

}  // namespace

TEST_CASE("explicit fields default to the GPT block and say so", "[models]") {
  const Model model = read(kSmall);
  const models::Layer& layer = model.kinds.at(0);
  CHECK(model.kinds.size() == 1);
  CHECK(model.layers == std::vector<int>{0, 0, 0});
  CHECK(layer.mlp.width == 256);
  CHECK(layer.mlp.bias);
  CHECK(layer.attention.kv_heads == 4);
  CHECK(model.tied);
  CHECK(noted(model, "ffn not stated: 4 x hidden = 256"));
  CHECK(noted(model, "tied not stated"));
}

TEST_CASE("the count of a GPT block is 12 h^2 + 13 h", "[models]") {
  // Narayanan et al. 2021, equation 2: P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)); the final
  // norm adds 2 h.
  const Model model = read(kSmall + ", positions: 32");
  CHECK(models::layer_parameters(model, model.kinds[0]) == 12 * 64 * 64 + 13 * 64);
  CHECK(models::embedding_parameters(model) == (100 + 32) * 64);
  CHECK(models::head_parameters(model) == 0);
  CHECK(models::total_parameters(model) == 3 * (12 * 64 * 64 + 13 * 64) + (100 + 32) * 64 + 2 * 64);
}

TEST_CASE("grouped queries, gates and untied heads change the count as they should", "[models]") {
  const Model model =
      read(kSmall + ", kv_heads: 2, activation: swiglu, ffn: 96, norm: rmsnorm, tied: false");
  CHECK(models::layer_parameters(model, model.kinds[0]) ==
        2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 96 + 2 * 64);
  CHECK(models::head_parameters(model) == 100 * 64);
  const Model squared = read(kSmall + ", activation: squared-relu, bias: false");
  CHECK(squared.kinds[0].mlp.activation == models::Activation::SquaredRelu);
  CHECK(models::layer_parameters(squared, squared.kinds[0]) == 12 * 64 * 64 + 2 * 64);
}

TEST_CASE("active parameters leave out the experts a token is not sent to", "[models]") {
  const Model model = read("preset: mixtral-8x7b");
  const models::Layer& layer = model.kinds[0];
  const std::int64_t expert = 3 * 4096 * 14336;
  CHECK(models::layer_parameters(model, layer) - models::active_layer_parameters(model, layer) ==
        6 * expert);
  CHECK(models::total_parameters(model) - models::active_parameters(model) == 32 * 6 * expert);
}

TEST_CASE("wrong explicit fields are one clear line", "[models]") {
  CHECK(contains(error("hidden: 65, layers: 3, heads: 4, vocab: 100"),
                 "4 does not divide hidden 65"));
  CHECK(contains(error(kSmall + ", kv_heads: 3"), "3 does not divide 4 heads"));
  CHECK(contains(error(kSmall + ", activation: swiglu"), "ffn: missing"));
  CHECK(contains(error(kSmall + ", activation: gelo"), "gelu"));
  CHECK(contains(error(kSmall + ", fnn: 7"), "ffn"));
  CHECK(contains(error("hidden: 64, layers: 0, heads: 4, vocab: 100"), "layers"));
  CHECK(contains(error("hidden: 1e30, layers: 1, heads: 4, vocab: 100"), "hidden"));
  CHECK(contains(error("layers: 3, heads: 4, vocab: 100"), "hidden"));
  CHECK(contains(error("hidden: 1048576, layers: 10000, heads: 64, vocab: 100, ffn: 16777216"),
                 "more than 10^16 parameters"));
}

TEST_CASE("every preset loads, names its source and has the size in its name", "[models]") {
  const std::vector<std::string> names = models::spec_names("model");
  CHECK(names.size() >= 80);
  for (const std::string& name : names) {
    INFO(name);
    const Model model = read("preset: " + name);
    CHECK(model.name == name);
    CHECK_FALSE(model.source.empty());
    CHECK_FALSE(models::describe(model).empty());
    const std::size_t dash = name.find_last_of('-');
    double size = 0;
    char unit = 0, after = 0;
    const std::string last = name.substr(dash + 1);
    if (std::sscanf(last.c_str(), "%lf%c%c", &size, &unit, &after) != 2) continue;
    const double scale = unit == 'm' ? 1e6 : unit == 'b' ? 1e9 : unit == 't' ? 1e12 : 0;
    if (scale == 0) continue;
    CHECK(static_cast<double>(models::total_parameters(model)) ==
          Approx(size * scale).epsilon(scale * size < 2e9 ? 0.35 : 0.16));
  }
}

TEST_CASE("the Megatron presets have the sizes of the scaling study", "[models]") {
  // Narayanan et al. 2021, Table 1, in billions.
  const std::vector<std::pair<std::string, double>> table{
      {"1.7b", 1.7},   {"3.6b", 3.6},     {"7.5b", 7.5},     {"18.4b", 18.4},   {"39.1b", 39.1},
      {"76.1b", 76.1}, {"145.6b", 145.6}, {"310.1b", 310.1}, {"529.6b", 529.6}, {"1t", 1008.0}};
  for (const auto& [name, billions] : table) {
    INFO(name);
    const Model model = read("preset: megatron-" + name);
    CHECK(static_cast<double>(models::total_parameters(model)) / 1e9 ==
          Approx(billions).margin(0.05));
  }
}

TEST_CASE("layers and vocab override a preset and are noted", "[models]") {
  const Model whole = read("preset: llama-3-8b"), cut = read("preset: llama-3-8b, layers: 4");
  CHECK(cut.layers.size() == 4);
  CHECK(models::total_parameters(whole) - models::total_parameters(cut) ==
        28 * models::layer_parameters(whole, whole.kinds[0]));
  CHECK(noted(cut, "cut to the first 4 of 32 layers"));
  const Model wide = read("preset: llama-7b, vocab: 128000");
  CHECK(wide.vocab == 128000);
  CHECK(noted(wide, "vocabulary 128000 instead of 32000"));
  CHECK(contains(error("preset: llama-3-8b, layers: 33"), "layers"));
  CHECK(contains(error("preset: llama-3-8b, hidden: 64"), "hidden"));
}

TEST_CASE("an unknown preset names the nearest", "[models]") {
  const std::string message = error("preset: lama-3-8b");
  CHECK(contains(message, "scenario.yaml:1:"));
  CHECK(contains(message, "llama-3-8b"));
  CHECK(contains(error("preset: ../../etc/passwd"), "preset"));
  CHECK(contains(error("preset: llama-3-8b, huggingface: x.json"), "give one of the two"));
}

TEST_CASE("a config beside the scenario is found from its folder", "[models]") {
  const std::string folder = PACELINE_SOURCE "/tests/data/models";
  const Model model = read("huggingface: small-llama.json, layers: 1", folder);
  CHECK(model.name == "small-llama");
  CHECK(model.family == "llama");
  CHECK(model.layers.size() == 1);
  CHECK(contains(error("huggingface: missing.json", folder), "missing.json"));
  CHECK(contains(error("huggingface: .", folder), "scenario.yaml:1:"));
  CHECK(contains(error("huggingface: model.safetensors", folder), "holds weights"));
  CHECK(contains(error("huggingface: model.gguf", folder), "holds weights"));
}

TEST_CASE("a description tells shape, counts and notes", "[models]") {
  const std::string text = models::describe(read("preset: deepseek-v3"));
  CHECK(contains(text, "61 layers, hidden 7168"));
  CHECK(contains(text, "8 of 256 experts"));
  CHECK(contains(text, "671,026,419,200"));
  CHECK(contains(text, "active 37,552,297,472"));
  CHECK(contains(text, "with prediction layer: 682,636,487,424"));
  CHECK(contains(models::describe(read(kSmall)), "note: ffn not stated"));
}

TEST_CASE("a model that breaks an invariant is refused", "[models]") {
  Model model = read(kSmall);
  model.layers[1] = 5;
  CHECK_THROWS_AS(models::check_model(model, "here"), base::Error);
  model = read(kSmall);
  model.kinds[0].attention.kv_heads = 3;
  CHECK_THROWS_WITH(models::check_model(model, "here"), Catch::Contains("do not divide"));
  model = read(kSmall);
  model.layers.clear();
  CHECK_THROWS_AS(models::check_model(model, "here"), base::Error);
}

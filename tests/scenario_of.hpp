// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/config.hpp"
#include "models/scenario/scenario.hpp"

namespace tests {

/// The scenario a YAML text describes; messages name "test.yaml".
inline paceline::models::Scenario scenario_of(const std::string& yaml) {
  return paceline::models::read_scenario(paceline::base::parse_yaml(yaml, "test.yaml"));
}

/// A small GPT (hidden 1024, 16 heads, MLP 4h, 16 layers) on one node of 8 A100. `more` adds keys
/// or, where it repeats one, replaces it.
inline paceline::models::Scenario small_gpt(const std::string& more = "") {
  namespace base = paceline::base;
  base::Document document = base::parse_yaml(
      "model: {hidden: 1024, layers: 16, heads: 16, ffn: 4096, vocab: 32000}\n"
      "cluster: {preset: dgx-a100, nodes: 1}\n"
      "batch: {global: 64, micro: 2, sequence: 512}\n"
      "parallel: {dp: 1}\n",
      "test.yaml");
  const base::Document overlay = base::parse_yaml(more.empty() ? "{}" : more, "test.yaml");
  base::merge(document.root, overlay.root);
  return paceline::models::read_scenario(document);
}

/// Small enough to be run for real.
inline paceline::models::Scenario tiny_scenario(const std::string& more) {
  return paceline::models::read_scenario(paceline::base::parse_yaml(
      "model: {hidden: 64, layers: 4, heads: 4, ffn: 128, vocab: 256, norm: rmsnorm, "
      "activation: swiglu}\n"
      "cluster: {preset: dgx-a100, nodes: 1}\nprecision: fp32\nattention: eager\n"
      "batch: {global: 8, micro: 1, sequence: 32}\n" +
          more,
      "tiny.yaml"));
}

}  // namespace tests

// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// All of the model after the last step of a round; the next round waits.
std::vector<OuterSync> diloco_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps, all_layers(layers)}};
}

}  // namespace

OuterMethod diloco_method() {
  return {"diloco",
          "H inner AdamW steps, then an outer Nesterov step on the averaged difference",
          "Douillard et al., DiLoCo, arXiv:2311.08105",
          {"inner_steps"},
          OuterExchange::Ring,
          diloco_round};
}

}  // namespace paceline::models

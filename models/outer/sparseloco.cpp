// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// All of the model after the last step of a round; the next round may run ahead by `overlap`
/// steps.
std::vector<OuterSync> sparseloco_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps + outer.overlap, all_layers(layers)}};
}

}  // namespace

OuterMethod sparseloco_method() {
  return {"sparseloco",
          "DiLoCo whose differences travel as top-k with error feedback",
          "SparseLoCo, arXiv:2508.15706",
          {"inner_steps", "overlap"},
          OuterExchange::Ring,
          sparseloco_round};
}

}  // namespace paceline::models

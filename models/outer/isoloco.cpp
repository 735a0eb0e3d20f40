// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// All of the model after the last step of a round; the next round waits.
std::vector<OuterSync> isoloco_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps, all_layers(layers)}};
}

}  // namespace

OuterMethod isoloco_method() {
  return {
      "isoloco",
      "DiLoCo whose averaged difference gets equal singular values",
      "Can model merging improve aggregation in DiLoCo? (IsoLoCo); Iso-C, danielm1405/iso-merging",
      {"inner_steps"},
      OuterExchange::Ring,
      isoloco_round};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// All of the model after the last step of a round; the next round waits.
std::vector<OuterSync> data_parallel_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps, all_layers(layers)}};
}

}  // namespace

OuterMethod data_parallel_method() {
  return {"data-parallel",    "gradients are exchanged in every step", "", {}, OuterExchange::Ring,
          data_parallel_round};
}

}  // namespace paceline::models

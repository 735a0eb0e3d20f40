// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// All of the model after the last step of a round; the next round waits.
std::vector<OuterSync> local_sgd_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps, all_layers(layers)}};
}

}  // namespace

OuterMethod local_sgd_method() {
  return {"local-sgd",
          "workers average their weights every H steps",
          "Stich, Local SGD converges fast and communicates little, arXiv:1805.09767",
          {"inner_steps"},
          OuterExchange::Ring,
          local_sgd_round};
}

}  // namespace paceline::models

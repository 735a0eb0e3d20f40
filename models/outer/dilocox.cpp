// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// One step of delay between rounds: differences of a round are applied after the next.
std::vector<OuterSync> dilocox_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, 2 * outer.inner_steps, all_layers(layers)}};
}

}  // namespace

OuterMethod dilocox_method() {
  return {"dilocox",
          "pipelines inside, the exchange of a round runs beside the whole next one",
          "DiLoCoX, arXiv:2506.21263",
          {"inner_steps"},
          OuterExchange::Ring,
          dilocox_round};
}

}  // namespace paceline::models

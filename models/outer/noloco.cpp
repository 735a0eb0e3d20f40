// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// With one partner after the last step of a round.
std::vector<OuterSync> noloco_round(const OuterChoice& outer, int layers) {
  return {{outer.inner_steps - 1, outer.inner_steps, all_layers(layers), 1, true}};
}

}  // namespace

OuterMethod noloco_method() {
  return {"noloco",
          "each worker averages with one partner, no exchange of all",
          "NoLoCo, arXiv:2506.10911",
          {"inner_steps"},
          OuterExchange::Gossip,
          noloco_round};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// Mix 1: the weights of all layers, while the next round runs. Mix 2: `blocking` of the outer
/// gradients, which the next round waits for.
std::vector<OuterSync> factored_gossip_round(const OuterChoice& outer, int layers) {
  const int last = outer.inner_steps - 1;
  std::vector<OuterSync> syncs;
  if (outer.blocking > 0)
    syncs.push_back({last, outer.inner_steps, all_layers(layers), outer.blocking});
  syncs.push_back({last, 2 * outer.inner_steps, all_layers(layers)});
  return syncs;
}

}  // namespace

OuterMethod factored_gossip_method() {
  return {"factored-gossip",
          "weights are mixed beside the next round, a share of the differences before it",
          "Factored Gossip DiLoCo",
          {"inner_steps", "blocking"},
          OuterExchange::Gossip,
          factored_gossip_round};
}

}  // namespace paceline::models

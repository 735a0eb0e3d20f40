// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "models/scenario/moe.hpp"

/// Where the tokens of mixture-of-experts layers go: how many each rank gets, how many are dropped,
/// how many nodes and ranks a token reaches.
namespace paceline::models {

/// Averages over layers; shares are of equal parts.
struct ExpertLoad {
  double mean = 1;     ///< tokens computed over tokens routed: below 1 where some are dropped
  double slowest = 1;  ///< of the rank with most
  double dropped() const { return 1 - mean; }
};

/// Loads of `count` experts dealt to `ranks`, of which every token chooses `per_token` different
/// ones. The laws are drawn anew for each of a number of layers, from the seed; the result is the
/// mean over them.
ExpertLoad expert_load(const MoeSettings& settings, std::int64_t count, std::int64_t per_token,
                       int ranks);

/// Expected number of the `parts` equal parts of `count` experts that `chosen` different experts
/// lie in, all choices alike: parts (1 - C(count - count/parts, chosen) / C(count, chosen)).
double distinct_parts(double count, double chosen, double parts);

}  // namespace paceline::models

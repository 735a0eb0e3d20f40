// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/lower/pass_cost.hpp"

/// Messages between neighbouring pipeline stages.
namespace paceline::sim {

struct HopTime {
  double size = 0;     ///< bytes one rank sends
  double seconds = 0;  ///< alone
  double fluid = 0;    ///< of it, what depends on the bytes sent
};

/// One microbatch, or `share` of one, over the pair of devices. Without sequence parallelism every
/// tp rank holds the whole activation: all send it, or each sends its share and the receivers
/// gather it over NVLink (scatter/gather, Narayanan et al. 2021, section 4.1). `layer`: the last
/// one below the boundary, for rules of codecs.
HopTime hop_time(const CostContext& context, const models::Plan& plan,
                 const models::CollectiveGroup& pair, double share, std::int64_t layer);

/// The last layer below the boundary between the stage and the next.
inline std::int64_t layer_below(const models::Plan& plan, int stage) {
  const models::Stage& s = plan.stages[static_cast<std::size_t>(stage)];
  return s.first_layer + s.layers - 1;
}

}  // namespace paceline::sim

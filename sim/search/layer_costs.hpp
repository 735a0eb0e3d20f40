// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

#include "models/parallel/plan.hpp"
#include "sim/lower/pass_cost.hpp"

/// What passes cost layer by layer, to add up stages of any cut.
namespace paceline::sim {

/// Seconds of a pass of one microbatch.
struct PassSeconds {
  double forward = 0, backward = 0, input = 0, weight = 0;
  PassSeconds& operator+=(const PassSeconds& other);
  /// Of one microbatch, there and back.
  double both(bool split) const { return forward + (split ? input + weight : backward); }
};

/// The segments that `lower` makes of a stage are sums of these.
struct LayerCosts {
  std::vector<std::array<PassSeconds, 2>> layer;  ///< by kind; [1]: recomputed
  PassSeconds embedding, head;                    ///< the head with prediction layers
  double host = 0;                                ///< of a microbatch on a rank, forward
};

/// Where passes are paired (`moe.overlap`) only their kernels are counted: the rest may hide.
LayerCosts layer_costs(const CostContext& context);

/// Of a stage whose first `recomputed` layers run their forward again, on a rank of `chunks`
/// stages.
PassSeconds stage_seconds(const LayerCosts& costs, const models::Model& model,
                          const models::Stage& stage, int recomputed, int chunks);

/// Layers of each of `stages` consecutive stages such that the longest (there and back) is as short
/// as can be; of the cuts that are equally good the one whose first stages are longest. Each stage
/// has at least one layer.
std::vector<int> balanced_layers(const LayerCosts& costs, const models::Model& model, int stages);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/workload/layer_ops.hpp"

/// The part of a block that its experts do: router, tokens to the ranks of their experts, grouped
/// products, tokens back, and shared experts and a dense MLP beside them.
namespace paceline::models {

/// Where the tokens of one layer and microbatch go, as one rank sees it.
struct Routed {
  double tokens = 0;   ///< that the rank routes
  double routes = 0;   ///< copies of them that are computed: tokens * per_token, less dropped ones
  double rows = 0;     ///< of the products of its own experts; equal to what all ranks send to it
  double experts = 0;  ///< its own
  double per_expert = 0;  ///< rows of each, filled up to whole groups of MoeSettings::pad
  double hidden = 0;
  double width = 0;  ///< of an expert, on a rank of its etp group
};
Routed routed(const Model& model, const Layer& layer, const LayerShape& shape);

void experts_forward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                     const LayerShape& shape, bool to_last_input = false);
void experts_backward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                      const LayerShape& shape);

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/train/parameters.hpp"

namespace paceline::kernels::train {

/// How weights follow gradients: the kernels adamw and sgd.
struct Optimizer {
  enum class Rule { AdamW, Sgd };
  Rule rule = Rule::AdamW;
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double momentum = 0.9;  ///< of Sgd
  double decay = 0.1;     ///< of matrices; norms and biases do not decay
};

/// Zeros for every parameter of a stage: first and second moments, or momentum.
std::vector<Block> optimizer_states(Device& device, const Optimizer& optimizer,
                                    const StageLayout& layout);

/// Update number `step`, from 1, of a stage's weights in place.
void optimizer_step(Device& device, const Optimizer& optimizer, const StageLayout& layout,
                    const Block& weights, const Block& gradients, const std::vector<Block>& states,
                    int step);

}  // namespace paceline::kernels::train

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/train/math.hpp"

namespace paceline::kernels::train {

/// What a layer keeps of one microbatch, [rows, …] each: from forward to backward, and what
/// backward adds for the weight gradients.
struct LayerRecord {
  Block x;  ///< the layer's input
  NormRecord before_attention, before_mlp;
  Block query, key, value, attended, lse;  ///< queries and keys after rotation
  Block middle;                            ///< after attention and its residual
  Block up, active;                        ///< MLP: before and after the activation
  /// Gradients of the outputs of linear layers: of query, key, value; of `middle`, which is that of
  /// the attention's projection; of gate and up; of the layer's output, which is that of `down`.
  Block d_query, d_key, d_value, d_middle, d_gate, d_up, d_output;
};

/// The layer's output.
Block layer_forward(const Context& context, const LayerLayout& layer, const Values& weights,
                    LayerRecord& record, Block x);
/// Input gradients only, from the gradient of the output to that of the input.
Block layer_backward(const Context& context, const LayerLayout& layer, const Values& weights,
                     LayerRecord& record, Block d_output);
/// Adds the weight gradients of a microbatch that backward has run for.
void layer_weight_gradients(const Context& context, const LayerLayout& layer,
                            const LayerRecord& record, const Values& gradients);

}  // namespace paceline::kernels::train

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "kernels/collective/communicator.hpp"
#include "kernels/train/parameters.hpp"

/// What a transformer is made of, each function a few registered operations. Rows are the tokens of
/// a microbatch; everything is in fp32.
namespace paceline::kernels::train {

/// What does not change: cosines and sines of the positions' angles, by head_dim, and zeros for
/// norms without bias.
struct Tables {
  struct Angles {
    Block cosines, sines;  ///< [rows, head_dim / 2]
  };
  std::map<std::int64_t, Angles> angles;
  Block zeros;  ///< [hidden]
};
Tables make_tables(Device& device, const GptShape& shape);

/// What a rank computes with.
struct Context {
  Device& device;
  const GptShape& shape;
  const Tables& tables;
  const Communicator* tensor = nullptr;  ///< the tensor-parallel group; null: this rank alone
};

/// Something for every parameter of a stage: its values or its gradients.
struct Values {
  const StageLayout& layout;
  Tensor all;  ///< [layout.count]
  Tensor of(int parameter) const;
};

/// In place, over the tensor-parallel group.
void sum_over_tensor_ranks(const Context&, const Tensor& values);
Block added(const Context&, const Tensor& a, const Tensor& b);
/// to += from
void accumulate(const Context&, const Tensor& from, const Tensor& to);

/// y [rows, outputs] of x [rows, inputs], summed over the group where the layer is partial.
Block linear_forward(const Context&, const Linear&, const Values& weights, const Tensor& x);
/// d_x of d_y, this rank's part of it.
Block linear_backward(const Context&, const Linear&, const Values& weights, const Tensor& d_y);
/// Adds to the gradients of weight and bias.
void linear_weight_gradient(const Context&, const Linear&, const Tensor& x, const Tensor& d_y,
                            const Values& gradients);

/// Output and statistics of a norm, and the gradient of the output once it is known.
struct NormRecord {
  Block y;
  Block mean, inverse;  ///< [rows]; rmsnorm has no mean
  Block d_y;
};
void norm_forward(const Context&, const Norm&, const Values& weights, const Tensor& x, NormRecord&);
/// d_x of d_y, which the record keeps.
Block norm_backward(const Context&, const Norm&, const Values& weights, const Tensor& x,
                    NormRecord&, Block d_y);
void norm_weight_gradient(const Context&, const Norm&, const Tensor& x, const NormRecord&,
                          const Values& gradients);

/// Rotary positions of x [rows, heads, head_dim], and the way back for gradients; nothing where
/// positions are learned.
void rotate(const Context&, Block& x, std::int64_t heads, std::int64_t head_dim);
void rotate_back(const Context&, Block& d_x, std::int64_t heads, std::int64_t head_dim);

/// Causal attention; heads as this rank holds them.
struct AttentionShape {
  std::int64_t heads, kv_heads, head_dim;
};
Block attention_forward(const Context&, const AttentionShape&, const Block& query, const Block& key,
                        const Block& value, Block& lse);
struct AttentionInputs {
  const Block &query, &key, &value, &attended, &lse;
};
struct AttentionGradients {
  const Block &query, &key, &value;
};
void attention_backward(const Context&, const AttentionShape&, const AttentionInputs&,
                        const Block& d_attended, const AttentionGradients&);

/// GELU of x [rows, ffn], or SwiGLU of x [rows, 2 ffn], gate and up side by side.
Block activate(const Context&, const LayerShape&, const Block& x);
Block activate_backward(const Context&, const LayerShape&, const Block& x, const Block& d_y);

/// Rows of a table [entries, hidden].
Block gather_rows(const Context&, const Tensor& table, const Block& rows);
/// table's gradient += d_y, row by row.
void scatter_rows(const Context&, const Tensor& gradient, const Block& rows, const Block& d_y);

/// Cross-entropy of each row of logits [rows, vocab] against its target.
struct LossRecord {
  Block loss, lse;  ///< [rows]
};
LossRecord loss_forward(const Context&, const Block& logits, const Block& targets);
/// (softmax - one at the target) * scale.
Block loss_backward(const Context&, const Block& logits, const Block& targets, const LossRecord&,
                    double scale);

}  // namespace paceline::kernels::train

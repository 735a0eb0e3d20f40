// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/layer.hpp"

namespace paceline::kernels::train {
namespace {

/// x -> attention(norm(x)), its part on this rank summed over the group.
Block attention_branch(const Context& c, const LayerLayout& l, const Values& weights,
                       LayerRecord& r) {
  norm_forward(c, l.before_attention, weights, r.x.floats(), r.before_attention);
  const Block& input = r.before_attention.y;
  r.query = linear_forward(c, l.query, weights, input.floats());
  r.key = linear_forward(c, l.key, weights, input.floats());
  r.value = linear_forward(c, l.value, weights, input.floats());
  rotate(c, r.query, l.shape.heads, l.shape.head_dim);
  rotate(c, r.key, l.shape.kv_heads, l.shape.head_dim);
  const AttentionShape shape{l.shape.heads, l.shape.kv_heads, l.shape.head_dim};
  r.attended = attention_forward(c, shape, r.query, r.key, r.value, r.lse);
  return linear_forward(c, l.out, weights, r.attended.floats());
}

Block mlp_branch(const Context& c, const LayerLayout& l, const Values& weights, LayerRecord& r) {
  norm_forward(c, l.before_mlp, weights, r.middle.floats(), r.before_mlp);
  r.up = linear_forward(c, l.up, weights, r.before_mlp.y.floats());
  r.active = activate(c, l.shape, r.up);
  return linear_forward(c, l.down, weights, r.active.floats());
}

/// From the gradient of the layer's output to that of the norm's output, summed over the group.
Block mlp_backward(const Context& c, const LayerLayout& l, const Values& weights, LayerRecord& r) {
  const Block d_active = linear_backward(c, l.down, weights, r.d_output.floats());
  r.d_up = activate_backward(c, l.shape, r.up, d_active);
  Block sum = linear_backward(c, l.up, weights, r.d_up.floats());
  sum_over_tensor_ranks(c, sum.floats());
  return sum;
}

/// From the gradient of `middle` to that of the norm's output, summed over the group.
Block attention_backward_branch(const Context& c, const LayerLayout& l, const Values& weights,
                                LayerRecord& r) {
  const Block d_attended = linear_backward(c, l.out, weights, r.d_middle.floats());
  const AttentionShape shape{l.shape.heads, l.shape.kv_heads, l.shape.head_dim};
  r.d_query = c.device.take(r.query.count());
  r.d_key = c.device.take(r.key.count());
  r.d_value = c.device.take(r.value.count());
  attention_backward(c, shape, {r.query, r.key, r.value, r.attended, r.lse}, d_attended,
                     {r.d_query, r.d_key, r.d_value});
  rotate_back(c, r.d_query, l.shape.heads, l.shape.head_dim);
  rotate_back(c, r.d_key, l.shape.kv_heads, l.shape.head_dim);
  Block sum = linear_backward(c, l.query, weights, r.d_query.floats());
  sum = added(c, sum.floats(), linear_backward(c, l.key, weights, r.d_key.floats()).floats());
  sum = added(c, sum.floats(), linear_backward(c, l.value, weights, r.d_value.floats()).floats());
  sum_over_tensor_ranks(c, sum.floats());
  return sum;
}

}  // namespace

Block layer_forward(const Context& c, const LayerLayout& l, const Values& weights, LayerRecord& r,
                    Block x) {
  r.x = std::move(x);
  r.middle = added(c, r.x.floats(), attention_branch(c, l, weights, r).floats());
  return added(c, r.middle.floats(), mlp_branch(c, l, weights, r).floats());
}

Block layer_backward(const Context& c, const LayerLayout& l, const Values& weights, LayerRecord& r,
                     Block d_output) {
  r.d_output = std::move(d_output);
  const Block mlp = norm_backward(c, l.before_mlp, weights, r.middle.floats(), r.before_mlp,
                                  mlp_backward(c, l, weights, r));
  r.d_middle = added(c, r.d_output.floats(), mlp.floats());
  const Block attention =
      norm_backward(c, l.before_attention, weights, r.x.floats(), r.before_attention,
                    attention_backward_branch(c, l, weights, r));
  Block d_x = added(c, r.d_middle.floats(), attention.floats());
  for (Block* done : {&r.query, &r.key, &r.value, &r.lse, &r.up}) done->release();
  return d_x;
}

void layer_weight_gradients(const Context& c, const LayerLayout& l, const LayerRecord& r,
                            const Values& gradients) {
  const auto linear = [&](const Linear& which, const Block& x, const Block& d_y) {
    linear_weight_gradient(c, which, x.floats(), d_y.floats(), gradients);
  };
  linear(l.down, r.active, r.d_output);
  linear(l.up, r.before_mlp.y, r.d_up);
  norm_weight_gradient(c, l.before_mlp, r.middle.floats(), r.before_mlp, gradients);
  linear(l.out, r.attended, r.d_middle);
  linear(l.query, r.before_attention.y, r.d_query);
  linear(l.key, r.before_attention.y, r.d_key);
  linear(l.value, r.before_attention.y, r.d_value);
  norm_weight_gradient(c, l.before_attention, r.x.floats(), r.before_attention, gradients);
}

}  // namespace paceline::kernels::train

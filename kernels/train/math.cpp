// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/math.hpp"

namespace paceline::kernels::train {
namespace {

Shape rows_shape(std::int64_t rows, std::int64_t columns) {
  return {{"rows", rows}, {"columns", columns}};
}
Shape product_shape(const Context& c, const Linear& l) {
  return {{"m", c.shape.rows()}, {"n", l.outputs}, {"k", l.inputs}};
}
Shape attention_shape(const Context& c, const AttentionShape& a) {
  return {{"batch", c.shape.sequences}, {"heads", a.heads},
          {"kv_heads", a.kv_heads},     {"queries", c.shape.sequence},
          {"keys", c.shape.sequence},   {"head_dim", a.head_dim},
          {"causal", 1}};
}
Block like(const Context& c, const Block& block) { return c.device.take(block.count()); }

}  // namespace

Tensor Values::of(int parameter) const {
  const Parameter& p = layout.parameters[static_cast<std::size_t>(parameter)];
  return {all.as<float>() + p.offset, DType::F32, p.count()};
}

void sum_over_tensor_ranks(const Context& c, const Tensor& values) {
  if (c.tensor != nullptr)
    all_reduce(*c.tensor, values, values, Reduction::Sum, c.device.stream());
}

void add(const Context& c, const Tensor& a, const Tensor& b, const Tensor& sum) {
}

Block added(const Context& c, const Tensor& a, const Tensor& b) {
  Block sum = c.device.take(a.count);
  add(c, a, b, sum.floats());
  return sum;
}

void accumulate(const Context& c, const Tensor& from, const Tensor& to) {
  c.device.copy(added(c, from, to).floats(), to);
}

Block linear_forward(const Context& c, const Linear& l, const Values& weights, const Tensor& x) {
  Block y = c.device.take(c.shape.rows() * l.outputs);
  c.device.run("gemm", "forward", product_shape(c, l),
               {{"x", x}, {"w", weights.of(l.weight)}, {"y", y.floats()}});
  if (l.partial) sum_over_tensor_ranks(c, y.floats());
  if (l.bias < 0) return y;
  Block biased = like(c, y);
  c.device.run("bias", "forward", rows_shape(c.shape.rows(), l.outputs),
               {{"x", y.floats()}, {"b", weights.of(l.bias)}, {"y", biased.floats()}});
  return biased;
}

Block linear_backward(const Context& c, const Linear& l, const Values& weights, const Tensor& d_y) {
  Block d_x = c.device.take(c.shape.rows() * l.inputs);
  c.device.run("gemm", "input-gradient", product_shape(c, l),
               {{"dy", d_y}, {"w", weights.of(l.weight)}, {"dx", d_x.floats()}});
  return d_x;
}

void linear_weight_gradient(const Context& c, const Linear& l, const Tensor& x, const Tensor& d_y,
                            const Values& gradients) {
  c.device.run("gemm", "weight-gradient", product_shape(c, l),
               {{"dy", d_y}, {"x", x}, {"dw", gradients.of(l.weight)}});
  if (l.bias < 0) return;
  const Block sum = c.device.take(l.outputs);
  c.device.run("bias", "weight-gradient", rows_shape(c.shape.rows(), l.outputs),
               {{"dy", d_y}, {"db", sum.floats()}});
  accumulate(c, sum.floats(), gradients.of(l.bias));
}

Block attention_forward(const Context& c, const AttentionShape& a, const Block& query,
                        const Block& key, const Block& value, Block& lse) {
  Block attended = like(c, query);
  lse = c.device.take(c.shape.rows() * a.heads);
  c.device.run("attention", "forward", attention_shape(c, a),
               {{"q", query.floats()},
                {"k", key.floats()},
                {"v", value.floats()},
                {"out", attended.floats()},
                {"lse", lse.floats()}});
  return attended;
}

void attention_backward(const Context& c, const AttentionShape& a, const AttentionInputs& in,
                        const Block& d_attended, const AttentionGradients& out) {
  c.device.run("attention", "backward", attention_shape(c, a),
               {{"q", in.query.floats()},
                {"k", in.key.floats()},
                {"v", in.value.floats()},
                {"out", in.attended.floats()},
                {"lse", in.lse.floats()},
                {"dout", d_attended.floats()},
                {"dq", out.query.floats()},
                {"dk", out.key.floats()},
                {"dv", out.value.floats()}});
}

}  // namespace paceline::kernels::train

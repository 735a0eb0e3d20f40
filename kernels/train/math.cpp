// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/math.hpp"

#include <cmath>

#include "kernels/rope/rope.hpp"

namespace paceline::kernels::train {
namespace {

Shape rows_shape(std::int64_t rows, std::int64_t columns) {
  return {{"rows", rows}, {"columns", columns}};
}
Shape product_shape(const Context& c, const Linear& l) {
  return {{"m", c.shape.rows()}, {"n", l.outputs}, {"k", l.inputs}};
}
Shape attention_shape(const Context& c, const AttentionShape& a) {
  return {{"batch", c.shape.sequences},
          {"heads", a.heads},
          {"kv_heads", a.kv_heads},
          {"queries", c.shape.sequence},
          {"keys", c.shape.sequence},
          {"head_dim", a.head_dim},
          {"causal", 1}};
}
Block like(const Context& c, const Block& block) { return c.device.take(block.count()); }

void turn(const Context& c, Block& x, std::int64_t heads, std::int64_t head_dim, bool forward) {
  const auto angles = c.tables.angles.find(head_dim);
  if (angles == c.tables.angles.end()) return;
  Block y = like(c, x);
  c.device.run("rope", forward ? "forward" : "input-gradient",
               {{"rows", c.shape.rows()}, {"heads", heads}, {"head_dim", head_dim}},
               {{forward ? "x" : "dy", x.floats()},
                {"cos", angles->second.cosines.floats()},
                {"sin", angles->second.sines.floats()},
                {forward ? "y" : "dx", y.floats()}});
  x = std::move(y);
}

}  // namespace

Tables make_tables(Device& device, const GptShape& shape) {
  Tables tables;
  tables.zeros = device.zeros(shape.hidden);
  for (const LayerShape& layer : shape.layers) {
    if (shape.positions > 0 || tables.angles.count(layer.head_dim) > 0) continue;
    const std::int64_t half = layer.head_dim / 2;
    std::vector<float> cosines, sines;
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = rope_angle(row % shape.sequence, i, layer.head_dim);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    Tables::Angles& angles = tables.angles[layer.head_dim];
    angles = {device.take(std::ssize(cosines)), device.take(std::ssize(sines))};
    device.to_device(angles.cosines.floats(), cosines);
    device.to_device(angles.sines.floats(), sines);
  }
  return tables;
}

Tensor Values::of(int parameter) const {
  const Parameter& p = layout.parameters[static_cast<std::size_t>(parameter)];
  return {all.as<float>() + p.offset, DType::F32, p.count()};
}

void sum_over_tensor_ranks(const Context& c, const Tensor& values) {
  if (c.tensor != nullptr) all_reduce(*c.tensor, values, values, Reduction::Sum, c.device.stream());
}

void accumulate(const Context& c, const Tensor& from, const Tensor& to) {
  c.device.run("add", "forward", {{"count", to.count}}, {{"a", to}, {"b", from}, {"y", to}});
}

Block added(const Context& c, const Tensor& a, const Tensor& b) {
  Block sum = c.device.take(a.count);
  c.device.run("add", "forward", {{"count", a.count}}, {{"a", a}, {"b", b}, {"y", sum.floats()}});
  return sum;
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

void rotate(const Context& c, Block& x, std::int64_t heads, std::int64_t head_dim) {
  turn(c, x, heads, head_dim, true);
}
void rotate_back(const Context& c, Block& d_x, std::int64_t heads, std::int64_t head_dim) {
  turn(c, d_x, heads, head_dim, false);
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

Block activate(const Context& c, const LayerShape& layer, const Block& x) {
  Block y = c.device.take(c.shape.rows() * layer.ffn);
  c.device.run(layer.gated ? "swiglu" : "gelu", "forward", rows_shape(c.shape.rows(), layer.ffn),
               {{"x", x.floats()}, {"y", y.floats()}});
  return y;
}

Block activate_backward(const Context& c, const LayerShape& layer, const Block& x,
                        const Block& d_y) {
  Block d_x = like(c, x);
  c.device.run(layer.gated ? "swiglu" : "gelu", "input-gradient",
               rows_shape(c.shape.rows(), layer.ffn),
               {{"x", x.floats()}, {"dy", d_y.floats()}, {"dx", d_x.floats()}});
  return d_x;
}

Block gather_rows(const Context& c, const Tensor& table, const Block& rows) {
  const std::int64_t columns = c.shape.hidden;
  Block y = c.device.take(rows.count() * columns);
  c.device.run("embedding", "forward",
               {{"rows", rows.count()}, {"vocab", table.count / columns}, {"columns", columns}},
               {{"table", table}, {"tokens", rows.integers()}, {"y", y.floats()}});
  return y;
}

void scatter_rows(const Context& c, const Tensor& gradient, const Block& rows, const Block& d_y) {
  const std::int64_t columns = c.shape.hidden;
  c.device.run("embedding", "weight-gradient",
               {{"rows", rows.count()}, {"vocab", gradient.count / columns}, {"columns", columns}},
               {{"tokens", rows.integers()}, {"dy", d_y.floats()}, {"dtable", gradient}});
}

LossRecord loss_forward(const Context& c, const Block& logits, const Block& targets) {
  LossRecord record{c.device.take(c.shape.rows()), c.device.take(c.shape.rows())};
  c.device.run("cross-entropy", "forward", {{"rows", c.shape.rows()}, {"vocab", c.shape.vocab}},
               {{"logits", logits.floats()},
                {"targets", targets.integers()},
                {"loss", record.loss.floats()},
                {"lse", record.lse.floats()}});
  return record;
}

Block loss_backward(const Context& c, const Block& logits, const Block& targets,
                    const LossRecord& record, double scale) {
  Block d_logits = like(c, logits);
  const Block d_loss = c.device.take(c.shape.rows());
  c.device.to_device(d_loss.floats(), std::vector<float>(static_cast<std::size_t>(c.shape.rows()),
                                                         static_cast<float>(scale)));
  c.device.run("cross-entropy", "input-gradient",
               {{"rows", c.shape.rows()}, {"vocab", c.shape.vocab}},
               {{"logits", logits.floats()},
                {"targets", targets.integers()},
                {"lse", record.lse.floats()},
                {"dloss", d_loss.floats()},
                {"dlogits", d_logits.floats()}});
  return d_logits;
}

}  // namespace paceline::kernels::train

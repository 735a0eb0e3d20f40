// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/math.hpp"

namespace paceline::kernels::train {
namespace {

Shape norm_shape(const Context& c) {
  return {{"rows", c.shape.rows()}, {"columns", c.shape.hidden}};
}
bool is_rms(const Context& c) { return c.shape.norm == models::NormKind::Rms; }

/// Sums of one microbatch go to the gradient of all.
void accumulate_parts(const Context& c, const Norm& norm, const Block& d_weight,
                      const Block& d_bias, const Values& gradients) {
  accumulate(c, d_weight.floats(), gradients.of(norm.weight));
  if (norm.bias >= 0) accumulate(c, d_bias.floats(), gradients.of(norm.bias));
}

}  // namespace

void norm_forward(const Context& c, const Norm& norm, const Values& weights, const Tensor& x,
                  NormRecord& record) {
  const Tensor weight = weights.of(norm.weight);
  record.y = c.device.take(x.count);
  record.inverse = c.device.take(c.shape.rows());
  if (is_rms(c)) {
    c.device.run(
        "rmsnorm", "forward", norm_shape(c),
        {{"x", x}, {"w", weight}, {"y", record.y.floats()}, {"r", record.inverse.floats()}});
    return;
  }
  record.mean = c.device.take(c.shape.rows());
  c.device.run("layernorm", "forward", norm_shape(c),
               {{"x", x},
                {"w", weight},
                {"b", norm.bias >= 0 ? weights.of(norm.bias) : c.tables.zeros.floats()},
                {"y", record.y.floats()},
                {"mean", record.mean.floats()},
                {"r", record.inverse.floats()}});
}

Block norm_backward(const Context& c, const Norm& norm, const Values& weights, const Tensor& x,
                    NormRecord& record, Block d_y) {
  const Tensor weight = weights.of(norm.weight);
  record.d_y = std::move(d_y);
  Block d_x = c.device.take(x.count);
  if (is_rms(c)) {
    c.device.run("rmsnorm", "input-gradient", norm_shape(c),
                 {{"x", x},
                  {"w", weight},
                  {"r", record.inverse.floats()},
                  {"dy", record.d_y.floats()},
                  {"dx", d_x.floats()}});
  } else {
    c.device.run("layernorm", "input-gradient", norm_shape(c),
                 {{"x", x},
                  {"w", weight},
                  {"mean", record.mean.floats()},
                  {"r", record.inverse.floats()},
                  {"dy", record.d_y.floats()},
                  {"dx", d_x.floats()}});
  }
  return d_x;
}

void norm_weight_gradient(const Context& c, const Norm& norm, const Tensor& x,
                          const NormRecord& record, const Values& gradients) {
  const Block d_weight = c.device.take(c.shape.hidden), d_bias = c.device.take(c.shape.hidden);
  if (is_rms(c)) {
    c.device.run("rmsnorm", "weight-gradient", norm_shape(c),
                 {{"x", x},
                  {"r", record.inverse.floats()},
                  {"dy", record.d_y.floats()},
                  {"dw", d_weight.floats()}});
  } else {
    c.device.run("layernorm", "weight-gradient", norm_shape(c),
                 {{"x", x},
                  {"mean", record.mean.floats()},
                  {"r", record.inverse.floats()},
                  {"dy", record.d_y.floats()},
                  {"dw", d_weight.floats()},
                  {"db", d_bias.floats()}});
  }
  accumulate_parts(c, norm, d_weight, d_bias, gradients);
}

}  // namespace paceline::kernels::train

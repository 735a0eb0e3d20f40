// SPDX-License-Identifier: Apache-2.0
#include "models/workload/op_builder.hpp"

namespace paceline::models::detail {

Elements activation_elements(const Mlp& mlp, double rows, double width) {
  if (mlp.activation != Activation::Gelu && mlp.activation != Activation::Silu) return {};
  return {mlp.gated ? "swiglu" : "gelu", rows, width, 0, 0};
}

double activation_bytes(const Builder& b, const Mlp& mlp, bool forward) {
  const Bytes2 bytes = mlp.gated ? kGated : kPlain;
  double sum = forward ? bytes.forward : bytes.backward;
  if (mlp.activation == Activation::SquaredRelu || !b.stack().fused_activation) {
    sum *= kUnfusedActivation;
  }
  return sum;
}

void mlp_forward(Builder& b, double hidden, const Mlp& mlp, std::int64_t width,
                 bool to_last_input) {
  const double ffn = static_cast<double>(width) / b.t();
  const double gate = mlp.gated ? 2 : 1;
  const Precision p = b.shape().precision;
  enter_forward(b, hidden, "gather X");
  b.gemm("FC1", Phase::Forward, b.tokens(), gate * ffn, hidden, p);
  b.stream("activation", Phase::Forward, activation_bytes(b, mlp, true) * b.tokens() * ffn,
           activation_elements(mlp, b.tokens(), ffn));
  if (to_last_input) return;
  row_parallel_forward(b, "FC2", hidden, ffn, p);
}

void mlp_backward(Builder& b, double hidden, const Mlp& mlp, std::int64_t width) {
  const double ffn = static_cast<double>(width) / b.t();
  const double gate = mlp.gated ? 2 : 1;
  const Precision p = b.shape().precision;
  row_parallel_backward(b, "FC2 dX", "FC2 dW", hidden, ffn, p);
  b.stream("activation", Phase::Input, activation_bytes(b, mlp, false) * b.tokens() * ffn,
           activation_elements(mlp, b.tokens(), ffn));
  if (mlp.bias) b.stream("bias gradients", Phase::Input, 2 * b.tokens() * (ffn * gate));
  column_parallel_backward(b, "FC1 dX", "FC1 dW", hidden, gate * ffn, p);
}

}  // namespace paceline::models::detail

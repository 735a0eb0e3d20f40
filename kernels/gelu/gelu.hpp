// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "base/numeric/elementary.hpp"
#include "kernels/operation.hpp"

/// The form with tanh, which GPT models and Megatron use: y = x/2 (1 + tanh u), with
/// u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks and Gimpel, Gaussian error linear units,
/// arXiv:1606.08415, section 2). As 1 + tanh u = 2 sigmoid(2u), y = x sigmoid(2u).
namespace paceline::kernels {

constexpr float kGeluScale = 1.5957691216057308F;  // 2 sqrt(2/pi)
constexpr float kGeluCubic = 0.044715F;

PACELINE_HD inline float gelu(float x) {
  return x * numeric::sigmoid(kGeluScale * (x + kGeluCubic * x * x * x));
}
/// dy/dx = s + x s (1 - s) dz/dx of s = sigmoid(z); 1 - s by its own form: as a difference nothing
/// of it is left for larger x, which multiply it by their cube.
PACELINE_HD inline float gelu_slope(float x) {
  const float z = kGeluScale * (x + kGeluCubic * x * x * x), away = std::fabs(z);
  const float e = numeric::exp_of(-away), far = numeric::sigmoid(away), near = e * far;
  const float s = z < 0 ? near : far;
  return s + x * far * near * kGeluScale * (1 + 3 * kGeluCubic * x * x);
}

PACELINE_DECLARE_DEVICE(gelu_forward)
PACELINE_DECLARE_DEVICE(gelu_input_gradient)

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
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
/// dy/dx
PACELINE_HD inline float gelu_slope(float x) {
  const float s = numeric::sigmoid(kGeluScale * (x + kGeluCubic * x * x * x));
  return s + x * s * (1 - s) * kGeluScale * (1 + 3 * kGeluCubic * x * x);
}

PACELINE_DECLARE_DEVICE(gelu_forward)
PACELINE_DECLARE_DEVICE(gelu_input_gradient)

}  // namespace paceline::kernels

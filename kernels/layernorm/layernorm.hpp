// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/host_device.hpp"
#include "kernels/operation.hpp"

/// y = xhat * w + b per row, xhat = (x - mean) * r, r = 1 / sqrt(variance + eps) (Ba, Kiros and
/// Hinton, Layer normalization, arXiv:1607.06450, eq. 3 and 4). With g = dy * w:
///   dx = r * (g - mean(g) - xhat * mean(g * xhat)),   dw = sum over rows of dy * xhat,
///   db = sum over rows of dy.
namespace paceline::kernels {

constexpr float kLayernormEpsilon = 1e-5F;

/// r from the variance of a row.
PACELINE_HD inline float layernorm_inverse(float variance) {
#ifdef __CUDA_ARCH__
  return rsqrtf(variance + kLayernormEpsilon);
#else
  return 1.0F / std::sqrt(variance + kLayernormEpsilon);
#endif
}
/// One element of dx.
PACELINE_HD inline float layernorm_dx(float g, float xhat, float r, float mean_g, float mean_gx) {
  return r * (g - mean_g - xhat * mean_gx);
}

PACELINE_DECLARE_DEVICE(layernorm_forward)
PACELINE_DECLARE_DEVICE(layernorm_input_gradient)
PACELINE_DECLARE_DEVICE(layernorm_weight_gradient)

}  // namespace paceline::kernels

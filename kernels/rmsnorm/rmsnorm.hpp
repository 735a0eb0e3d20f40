// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/host_device.hpp"
#include "kernels/operation.hpp"

/// y = x / rms(x) * w per row, rms(x) = sqrt(mean(x^2) + eps) (Zhang and Sennrich, Root mean square
/// layer normalization, 2019, eq. 4). With r = 1/rms, n columns and g = dy * w:
///   dx = r * (g - x * r^2 * mean(g * x)),   dw = sum over rows of dy * x * r.
namespace paceline::kernels {

constexpr float kRmsnormEpsilon = 1e-6F;

/// 1/rms from the mean of the squares of a row.
PACELINE_HD inline float rms_inverse(float mean_square) {
#ifdef __CUDA_ARCH__
  return rsqrtf(mean_square + kRmsnormEpsilon);
#else
  return 1.0F / std::sqrt(mean_square + kRmsnormEpsilon);
#endif
}
/// What one element of dx subtracts from g, over x: r^2 * mean(g * x).
PACELINE_HD inline float rmsnorm_share(float mean_gx, float r) { return r * r * mean_gx; }
/// One element of dx.
PACELINE_HD inline float rmsnorm_dx(float dy, float w, float x, float r, float share) {
  return r * (dy * w - x * share);
}

PACELINE_DECLARE_DEVICE(rmsnorm_forward)
PACELINE_DECLARE_DEVICE(rmsnorm_input_gradient)
PACELINE_DECLARE_DEVICE(rmsnorm_weight_gradient)

}  // namespace paceline::kernels

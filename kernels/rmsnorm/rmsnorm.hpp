// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/host_device.hpp"
#include "kernels/operation.hpp"

/// y = x / rms(x) * w per row, rms(x) = sqrt(mean(x^2) + eps) (Zhang and Sennrich, Root mean square
/// layer normalization, 2019, eq. 4). With r = 1/rms, n columns and g = dy * w:
///   dx = r * (g - x * r^2 * mean(g * x)),   dw = sum over rows of dy * x * r.
namespace paceline::kernels {

constexpr float kRmsnormEpsilon = 1e-6F;

/// 1/rms from the sum of squares of a row.
PACELINE_HD inline float rms_inverse(float squares, float columns) {
#ifdef __CUDA_ARCH__
  return rsqrtf(squares / columns + kRmsnormEpsilon);
#else
  return 1.0F / std::sqrt(squares / columns + kRmsnormEpsilon);
#endif
}
/// One element of dx; `dot`: sum over the row of dy * w * x.
PACELINE_HD inline float rmsnorm_dx(float dy, float w, float x, float r, float dot, float columns) {
  return r * (dy * w - x * r * r * dot / columns);
}

PACELINE_DECLARE_DEVICE(rmsnorm_forward)
PACELINE_DECLARE_DEVICE(rmsnorm_input_gradient)
PACELINE_DECLARE_DEVICE(rmsnorm_weight_gradient)

}  // namespace paceline::kernels

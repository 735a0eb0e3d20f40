// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/float_formats.hpp"

/// Elementary functions for kernels: on the host without branches and library calls, so that loops
/// over them become vector instructions; on a device its fast instructions.
namespace paceline::numeric {

/// e^x to 2e-7 relative; infinity above 88.73, 0 below -104, NaN stays NaN. Range reduction after
/// Cody and Waite (Software manual for the elementary functions, 1980, chapter 6), then Taylor's
/// series for |r| <= ln 2 / 2, whose first term left out is below 6e-9.
/// On a device one instruction, to about 2 + 1.16 |x| units in the last place (CUDA programming
/// guide on __expf), and 0 instead of subnormal numbers.
PACELINE_HD inline float exp_of(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504F));
  return power;
#else
  constexpr float kLow = -104, kHigh = 89, kToInteger = 0x1.8p23F;
  constexpr float kLn2Upper = 0.693359375F, kLn2Rest = -2.12194440e-4F;
  x = x < kLow ? kLow : x;
  x = x > kHigh ? kHigh : x;
  const float shifted = x * 1.44269504F + kToInteger;  // its last bits are the rounded integer
  const float whole = shifted - kToInteger;
  const float r = x - whole * kLn2Upper - whole * kLn2Rest;
  float sum = 1.0F / 5040;
  sum = sum * r + 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  // 2^n as two factors, since n reaches beyond the exponents of normal floats.
  const auto n = static_cast<std::int32_t>(bits_of(shifted) - bits_of(kToInteger));
  const std::int32_t half = n >> 1;
  const auto factor = [](std::int32_t e) {
    return float_of(static_cast<std::uint32_t>(e + 127) << 23);
  };
  return sum * factor(half) * factor(n - half);
#endif
}

/// 1 / (1 + e^-x)
PACELINE_HD inline float sigmoid(float x) {
#ifdef __CUDA_ARCH__
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0F + exp_of(-x)));
  return inverse;
#else
  return 1.0F / (1.0F + exp_of(-x));
#endif
}

}  // namespace paceline::numeric

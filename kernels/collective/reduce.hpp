// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/numeric/float_formats.hpp"
#include "kernels/collective/provider.hpp"

/// Sums and maxima of the two-byte floats, which MPI does not know: b[i] = a[i] + b[i], rounded to
/// nearest even after every addition.
namespace paceline::kernels {

/// bf16 is the upper half of an f32. Without branches, so that compilers vectorise it; NaN stays
/// NaN, what is too large becomes infinity.
inline std::uint16_t bf16_bits(float x) {
  const std::uint32_t bits = numeric::bits_of(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40U : rounded);
}
inline float bf16_value(std::uint16_t bits) {
  return numeric::float_of(static_cast<std::uint32_t>(bits) << 16);
}

inline void reduce_bf16(const std::uint16_t* a, std::uint16_t* b, std::size_t n, Reduction how) {
  if (how == Reduction::Sum) {
    for (std::size_t i = 0; i < n; ++i) b[i] = bf16_bits(bf16_value(a[i]) + bf16_value(b[i]));
  } else {
    for (std::size_t i = 0; i < n; ++i)
      b[i] = bf16_bits(std::max(bf16_value(a[i]), bf16_value(b[i])));
  }
}

inline void reduce_f16(const numeric::fp16* a, numeric::fp16* b, std::size_t n, Reduction how) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<float>(a[i]), y = static_cast<float>(b[i]);
    b[i] = numeric::fp16(how == Reduction::Sum ? x + y : std::max(x, y));
  }
}

}  // namespace paceline::kernels

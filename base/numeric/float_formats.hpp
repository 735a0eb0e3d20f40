// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/numeric/host_device.hpp"

/// Small floating-point formats on host and device: one conversion for all of them, to nearest
/// even, and quicker ones with the same results for bf16 and fp16, which every kernel converts.
namespace paceline::numeric {

PACELINE_HD inline std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
PACELINE_HD inline float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// What a format does with values beyond its largest: bf16 and fp16 go to infinity; the 8- and
/// 4-bit formats saturate, as NVIDIA's conversions do (CUDA math API, `__NV_SATFINITE`).
enum class Beyond { Infinity, Saturate };

/// A format of one sign bit, `Exponent` and `Mantissa` bits. `kTop` is the largest finite value's
/// bit pattern without sign.
/// E4M3 and E5M2: Micikevicius et al., FP8 formats for deep learning (arXiv:2209.05433), table 1;
/// E4M3 has no infinity and one NaN pattern. E2M1: OCP Microscaling Formats 1.0, table 4; no NaN.
template <int Exponent, int Mantissa, std::uint32_t Top, Beyond Over, std::uint32_t NaN>
struct Format {
  static constexpr int kMantissa = Mantissa;
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr std::uint32_t kSign = 1U << (Exponent + Mantissa);
  static constexpr std::uint32_t kTop = Top;
  static constexpr bool kInfinity = NaN > Top + 1;  ///< the code above the largest value is one

  /// Nearest value, ties to even mantissa; NaN stays NaN (0 in formats without one), of any
  /// pattern.
  PACELINE_HD static std::uint32_t encode(float x) {
    const std::uint32_t bits = bits_of(x), sign = (bits >> 31) != 0 ? kSign : 0;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return sign | NaN;
    if (magnitude == 0x7f800000U) return sign | (Over == Beyond::Infinity ? kTop + 1 : kTop);
    const std::uint32_t result = round(magnitude);
    if (result <= kTop) return sign | result;
    return sign | (Over == Beyond::Infinity ? kTop + 1 : kTop);
  }
  PACELINE_HD static float decode(std::uint32_t code) {
    if constexpr (Exponent == 8) return float_of(code << (23 - Mantissa));
    const std::uint32_t sign = (code & kSign) != 0 ? 0x80000000U : 0;
    const std::uint32_t magnitude = code & (kSign - 1);
    if (NaN != 0 && magnitude > kTop)
      return float_of(sign | (magnitude == kTop + 1 && kInfinity ? 0x7f800000U : 0x7fc00000U));
    if (magnitude < (1U << Mantissa)) {  // subnormal: a multiple of the smallest step
      static_assert(Exponent < 8, "a step of bf16 is no normal float");
      const float step = float_of(static_cast<std::uint32_t>(127 + 1 - kBias - Mantissa) << 23);
      return (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(magnitude) * step;
    }
    const std::uint32_t shifted = magnitude << (23 - Mantissa);
    return float_of(sign | (shifted + (static_cast<std::uint32_t>(127 - kBias) << 23)));
  }

 private:
  /// Rounded bit pattern of a finite magnitude; may exceed kTop. Both ways of rounding are computed
  /// and one is taken, so that loops over it have no branches.
  PACELINE_HD static std::uint32_t round(std::uint32_t magnitude) {
    constexpr int kDrop = 23 - Mantissa;
    constexpr std::uint32_t kNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
    const std::uint32_t odd = magnitude >> kDrop & 1U;
    const std::uint32_t normal = ((magnitude + (1U << (kDrop - 1)) - 1 + odd) >> kDrop) -
                                 (static_cast<std::uint32_t>(127 - kBias) << Mantissa);
    if constexpr (kBias == 127) return normal;  // float's own exponents, subnormals included
    // Below the normal values all steps are equal: adding a number with that step as its last bit
    // rounds, to even as well. A carry gives the first normal value, whose pattern follows.
    constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(151 - kBias - Mantissa) << 23;
    const std::uint32_t subnormal = bits_of(float_of(magnitude) + float_of(kMagic)) - kMagic;
    return magnitude < kNormal ? subnormal : normal;
  }
};

using Bf16 = Format<8, 7, 0x7f7f, Beyond::Infinity, 0x7fc0>;
using Fp16 = Format<5, 10, 0x7bff, Beyond::Infinity, 0x7e00>;
using E4m3 = Format<4, 3, 0x7e, Beyond::Saturate, 0x7f>;
using E5m2 = Format<5, 2, 0x7b, Beyond::Saturate, 0x7e>;
using E2m1 = Format<2, 1, 0x7, Beyond::Saturate, 0>;

/// a < b ? x : y for numbers below 2^31, without a branch, so that loops over conversions become
/// vector instructions.
PACELINE_HD inline std::uint32_t if_less(std::uint32_t a, std::uint32_t b, std::uint32_t x,
                                         std::uint32_t y) {
  const bool less = static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(less);
  return (x & mask) | (y & ~mask);
}

// bf16 is the upper half of a float.
template <>
PACELINE_HD inline float Bf16::decode(std::uint32_t code) {
  return float_of(code << 16);
}
template <>
PACELINE_HD inline std::uint32_t Bf16::encode(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint16_t code;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
#else
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t nearest = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t nan = (bits >> 16 & 0x8000U) | 0x7fc0U;
  return if_less(0x7f800000U, bits & 0x7fffffffU, nan, nearest);
#endif
}

template <>
PACELINE_HD inline float Fp16::decode(std::uint32_t code) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<std::uint16_t>(code)));
  return value;
#else
  // Exponent and mantissa in a float's places are the value times 2^-112, subnormals included;
  // infinity and NaN are the ones that come out as 2^16 and more.
  const float value = float_of((code & 0x7fffU) << 13) * 0x1p112F;
  const std::uint32_t sign = (code & 0x8000U) << 16, bits = bits_of(value);
  return float_of(bits | sign | if_less(bits, 0x47800000U, 0, 0x7f800000U));
#endif
}
template <>
PACELINE_HD inline std::uint32_t Fp16::encode(float x) {
#ifdef __CUDA_ARCH__
  std::uint16_t code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
#else
  const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Added to a half, whose last place is 2^-24, a smaller float loses what a subnormal loses.
  const std::uint32_t small = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t normal =
      (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;       // bias 127 to 15
  const std::uint32_t finite = if_less(magnitude, 0x38800000U, small, normal);  // 2^-14
  const std::uint32_t large = if_less(0x7f800000U, magnitude, 0x7e00U, 0x7c00U);
  return sign | if_less(magnitude, 0x47800000U, finite, large);  // 2^16; 65520 and more carry
#endif
}

/// A stored value of a format; arithmetic is done in float.
template <class F, class Bits>
struct Stored {
  Bits bits;
  Stored() = default;
  PACELINE_HD explicit Stored(float x) : bits(static_cast<Bits>(F::encode(x))) {}
  PACELINE_HD explicit operator float() const { return F::decode(bits); }
};
using bf16 = Stored<Bf16, std::uint16_t>;
using fp16 = Stored<Fp16, std::uint16_t>;
using fp8_e4m3 = Stored<E4m3, std::uint8_t>;
using fp8_e5m2 = Stored<E5m2, std::uint8_t>;

}  // namespace paceline::numeric

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/float_formats.hpp"

/// Codes of a few bits beside a scale: x is about decode(code) * scale. The scale comes from the
/// largest magnitude of what shares it, a tensor or a block of elements that follow each other, so
/// that this magnitude gets the format's largest value (Micikevicius et al., FP8 formats for deep
/// learning, arXiv:2209.05433, section 3). Errors stay within half a step of the format at x, times
/// the scale, as long as no scale falls below the smallest normal number.
namespace paceline::numeric {

/// Bit pattern of |x|, ordered like |x|; NaN is above infinity.
PACELINE_HD inline std::uint32_t magnitude_of(float x) { return bits_of(x) & 0x7fffffffU; }
/// The same for a largest magnitude: infinity counts as the largest finite number, NaN as 0.
PACELINE_HD inline std::uint32_t finite_magnitude(float x) {
  const std::uint32_t m = magnitude_of(x);
  return m < 0x7f800000U ? m : (m == 0x7f800000U ? 0x7f7fffffU : 0U);
}

/// Parts of a tensor whose maxima may be found side by side before they meet.
constexpr std::int64_t kLargestParts = 1024;

constexpr float kSmallestNormal = 0x1p-126F;

/// Scale that maps `largest` to a format's `top`; never below the smallest normal number, so that
/// its inverse is finite. Nothing but zeros gets that one too.
PACELINE_HD inline float scale_of(float largest, float top) {
  const float scale = largest / top;
  return scale > kSmallestNormal ? scale : kSmallestNormal;
}

/// An 8-bit code is that of the nearest value of the format to x * (1 / scale), both operations
/// rounded to float; ties to even, beyond the top to the top.
template <class F, std::uint32_t TopBits>
struct FloatCode {
  PACELINE_HD static float top() { return float_of(TopBits); }
  PACELINE_HD static std::uint8_t encode(float quotient) {
    return static_cast<std::uint8_t>(F::encode(quotient));
  }
  PACELINE_HD static float decode(std::uint8_t code) { return F::decode(code); }
};
using E4m3Code = FloatCode<E4m3, 0x43e00000>;  // 448
using E5m2Code = FloatCode<E5m2, 0x47600000>;  // 57344

/// Whole numbers -127 to 127 in two's complement; NaN becomes 0.
struct Int8Code {
  PACELINE_HD static float top() { return 127; }
  PACELINE_HD static std::uint8_t encode(float quotient) {
    const float known = quotient == quotient ? quotient : 0.0F;
    const float below = known < 127.0F ? known : 127.0F;
    const float clamped = below > -127.0F ? below : -127.0F;
    // 1.5 * 2^23: the sum's last bit is 1, so it rounds to whole numbers, ties to even.
    return static_cast<std::uint8_t>(bits_of(clamped + 0x1.8p23F));
  }
  PACELINE_HD static float decode(std::uint8_t code) {
    return static_cast<float>(static_cast<std::int8_t>(code));
  }
};

/// Bytes of `count` elements on the wire: codes, and an fp32 scale per block (block 0: one for
/// all).
PACELINE_HD constexpr std::int64_t scaled_blocks(std::int64_t count, std::int64_t block) {
  return block == 0 ? 1 : (count + block - 1) / block;
}
PACELINE_HD constexpr std::int64_t scaled_bytes(std::int64_t count, std::int64_t block) {
  return count + 4 * scaled_blocks(count, block);
}

/// NVFP4: E2M1 codes, an E4M3 scale per 16 elements and one fp32 scale per tensor (NVIDIA,
/// Pretraining large language models with NVFP4, arXiv:2509.25149, section 2 and appendix B). The
/// tensor's scale maps its largest magnitude to 6 * 448, the largest value times the largest scale;
/// a block's maps the block's to 6.
constexpr std::int64_t kNvfp4Block = 16;
constexpr float kNvfp4Top = 6;

PACELINE_HD inline float nvfp4_tensor_scale(float largest) {
  return scale_of(largest, kNvfp4Top * 448);
}
/// E4M3 code of a block's scale, in units of the tensor's.
PACELINE_HD inline std::uint8_t nvfp4_block_code(float largest, float tensor_scale) {
  return static_cast<std::uint8_t>(E4m3::encode(largest / (kNvfp4Top * tensor_scale)));
}
/// What a block's decoded elements are multiplied by.
PACELINE_HD inline float nvfp4_scale(std::uint8_t block_code, float tensor_scale) {
  return E4m3::decode(block_code) * tensor_scale;
}
/// What elements are multiplied by before rounding: 0 where the block's scale has become 0, or so
/// small that its inverse is not finite; such a block is all zeros.
PACELINE_HD inline float nvfp4_inverse(float scale) {
  return scale >= kSmallestNormal ? 1.0F / scale : 0.0F;
}
/// Two codes of four bits in a byte, the first element in the low ones.
PACELINE_HD inline std::uint8_t nvfp4_pair(float first, float second) {
  return static_cast<std::uint8_t>(E2m1::encode(first) | E2m1::encode(second) << 4);
}
PACELINE_HD constexpr std::int64_t nvfp4_blocks(std::int64_t count) {
  return (count + kNvfp4Block - 1) / kNvfp4Block;
}
PACELINE_HD constexpr std::int64_t nvfp4_bytes(std::int64_t count) {
  return (count + 1) / 2 + nvfp4_blocks(count) + 4;
}

}  // namespace paceline::numeric

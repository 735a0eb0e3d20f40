// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/scaled_codes.hpp"

/// Sparse arrays on the wire, and which elements are sent.
///
/// Bitvector: the nonzero values in order, a bit per element (element 8 b + i in bit i of byte b)
/// and, for every tile of 64 x 64 elements, how many nonzeros lie before it: the bytes of SpCCL's
/// Pici format (hpcgroup/spccl-reproducer-sc26, ccd.cuh). Coordinates: 4-byte index and value. NaN
/// is a nonzero, -0 a zero.
///
/// Error feedback (Stich, Cordonnier, Jaggi, Sparsified SGD with memory, arXiv:1809.07599,
/// algorithm 1): what is not sent is added to the next gradient. With a = gradient + residual,
/// rounded to float, the values sent plus the new residual are a exactly, unless a is beyond what
/// the values' type holds.
namespace paceline::numeric {

constexpr std::int64_t kSparseTileElements = 64 * 64;

PACELINE_HD constexpr std::int64_t bitvector_tiles(std::int64_t count) {
  return (count + kSparseTileElements - 1) / kSparseTileElements;
}
PACELINE_HD constexpr std::int64_t bitvector_bit_bytes(std::int64_t count) {
  return (count + 7) / 8;
}
PACELINE_HD constexpr std::int64_t bitvector_bytes(std::int64_t count, std::int64_t nonzeros,
                                                   std::int64_t value_bytes) {
  return nonzeros * value_bytes + bitvector_bit_bytes(count) + 4 * bitvector_tiles(count);
}
PACELINE_HD constexpr std::int64_t coordinate_bytes(std::int64_t nonzeros,
                                                    std::int64_t value_bytes) {
  return nonzeros * (value_bytes + 4);
}

/// Top-k ranks by this, larger first; where it is equal the smaller index is first, so that exactly
/// k are taken. NaN comes first of all: it is sent, not hidden in the residual.
PACELINE_HD inline std::uint32_t rank_key(float a) { return magnitude_of(a); }

/// Radix selection over the 31 bits of the key: digits of 11, 10 and 10 bits from the top.
constexpr int kRankDigits = 3;
PACELINE_HD constexpr int rank_shift(int digit) { return 20 - 10 * digit; }
PACELINE_HD constexpr std::uint32_t rank_bins(int digit) { return digit == 0 ? 2048U : 1024U; }
PACELINE_HD inline std::uint32_t rank_digit(std::uint32_t key, int digit) {
  return key >> rank_shift(digit) & (rank_bins(digit) - 1);
}
/// Whether the digits above `digit` are those of `prefix` (the lower bits of which are 0).
PACELINE_HD inline bool has_prefix(std::uint32_t key, std::uint32_t prefix, int digit) {
  return digit == 0 || (key ^ prefix) >> rank_shift(digit - 1) == 0;
}

/// What is sent of `a`: the nearest value of T, never infinity unless `a` is.
template <class T>
PACELINE_HD inline T sent_value(float a) {
  return T(a);
}
template <class F>
PACELINE_HD inline float within(float a) {
  const float top = F::decode(F::kTop);
  if (magnitude_of(a) >= 0x7f800000U) return a;
  return a > top ? top : (a < -top ? -top : a);
}
template <>
PACELINE_HD inline bf16 sent_value<bf16>(float a) {
  return bf16(within<Bf16>(a));
}
template <>
PACELINE_HD inline fp16 sent_value<fp16>(float a) {
  return fp16(within<Fp16>(a));
}

}  // namespace paceline::numeric

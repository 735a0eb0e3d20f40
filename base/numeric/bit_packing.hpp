// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/numeric/host_device.hpp"

/// Whole numbers of `bits` bits each (1 to 32), one behind the other in 32-bit words: number i is
/// bits i * bits and up of the words taken as one long number.
namespace paceline::numeric {

/// Bits of a number below `values`; one value needs none but gets one.
PACELINE_HD constexpr int index_bits(std::int64_t values) {
  int bits = 1;
  while (bits < 32 && values > std::int64_t{1} << bits) ++bits;
  return bits;
}
PACELINE_HD constexpr std::int64_t packed_words(std::int64_t count, int bits) {
  return (count * bits + 31) / 32;
}

/// Word w of `count` numbers, number(i) being the i-th.
template <class Number>
PACELINE_HD inline std::uint32_t packed_word(std::int64_t w, std::int64_t count, int bits,
                                             const Number& number) {
  const std::int64_t begin = w * 32;
  std::uint32_t word = 0;
  for (std::int64_t i = begin / bits; i < count && i * bits < begin + 32; ++i) {
    const std::int64_t shift = i * bits - begin;
    const std::uint32_t value = number(i);
    word |= shift >= 0 ? value << shift : value >> -shift;
  }
  return word;
}
PACELINE_HD inline std::uint32_t packed_number(const std::uint32_t* words, std::int64_t i,
                                               int bits) {
  const std::int64_t begin = i * bits, w = begin / 32, end = begin + bits;
  const auto shift = static_cast<int>(begin % 32);
  std::uint64_t both = words[w];
  if (end > (w + 1) * 32) both |= std::uint64_t{words[w + 1]} << 32;
  return static_cast<std::uint32_t>(both >> shift & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace paceline::numeric

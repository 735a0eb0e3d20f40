// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/float_formats.hpp"

/// Signs and ternary values as bits, 32 elements to a word, element 32 w + i in bit i of word w;
/// and majority votes over the words of several workers.
///
/// A sign is the sign bit: 1 is negative (signSGD with majority vote, Bernstein et al.,
/// arXiv:1810.05291). The vote is negative where more than half of the workers are negative, so a
/// tie is positive.
///
/// A ternary value needs two words per 32 elements, word 2 w for plus and word 2 w + 1 for minus:
/// plus where x > threshold, minus where x < -threshold, else zero. The vote is plus where more
/// workers say plus than minus, minus where more say minus, and zero on a tie: zeros abstain.
namespace paceline::numeric {

PACELINE_HD constexpr std::int64_t sign_words(std::int64_t count) { return (count + 31) / 32; }
PACELINE_HD constexpr std::int64_t ternary_words(std::int64_t count) {
  return 2 * sign_words(count);
}
/// On the wire: whole words.
PACELINE_HD constexpr std::int64_t sign_bytes(std::int64_t count) { return 4 * sign_words(count); }
PACELINE_HD constexpr std::int64_t ternary_bytes(std::int64_t count) {
  return 4 * ternary_words(count);
}

PACELINE_HD inline bool is_plus(float x, float threshold) { return x > threshold; }
PACELINE_HD inline bool is_minus(float x, float threshold) { return x < -threshold; }
/// +-scale by bit `i` of a word of signs.
PACELINE_HD inline float sign_value(std::uint32_t word, int i, float scale) {
  return float_of(bits_of(scale) ^ (word >> i << 31));
}
/// -scale, 0 or scale by bit `i`; both bits cancel.
PACELINE_HD inline float ternary_value(std::uint32_t plus, std::uint32_t minus, int i,
                                       float scale) {
  const int sign = static_cast<int>(plus >> i & 1U) - static_cast<int>(minus >> i & 1U);
  return static_cast<float>(sign) * scale;
}

/// 32 counters side by side, one per bit of a word: plane p holds bit p of every counter (Knuth,
/// The art of computer programming 4A, section 7.1.3: bitwise addition). Counts up to 2^P - 1.
template <int P>
struct VoteCounts {
  std::uint32_t planes[P] = {};
};

/// One step of adding a word: the plane takes what it can, the rest is carried to the next.
PACELINE_HD inline void add_to_plane(std::uint32_t& plane, std::uint32_t& carry) {
  const std::uint32_t both = plane & carry;
  plane ^= carry;
  carry = both;
}
template <int P>
PACELINE_HD inline void add_votes(VoteCounts<P>& counts, std::uint32_t word) {
  for (int p = 0; p < P; ++p) add_to_plane(counts.planes[p], word);
}
/// Bits where a > b.
template <int P>
PACELINE_HD inline std::uint32_t more_votes(const VoteCounts<P>& a, const VoteCounts<P>& b) {
  std::uint32_t more = 0, equal = 0xffffffffU;
  for (int p = P - 1; p >= 0; --p) {
    more |= equal & a.planes[p] & ~b.planes[p];
    equal &= ~(a.planes[p] ^ b.planes[p]);
  }
  return more;
}
/// The same number in every counter.
template <int P>
PACELINE_HD inline VoteCounts<P> equal_votes(std::uint32_t number) {
  VoteCounts<P> counts;
  for (int p = 0; p < P; ++p) counts.planes[p] = 0U - (number >> p & 1U);
  return counts;
}
/// Negative votes against half of the workers.
template <int P>
PACELINE_HD inline std::uint32_t sign_majority(const VoteCounts<P>& negative,
                                               std::uint32_t workers) {
  return more_votes(negative, equal_votes<P>(workers / 2));
}

}  // namespace paceline::numeric

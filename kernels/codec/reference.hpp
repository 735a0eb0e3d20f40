// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/numeric/scaled_codes.hpp"
#include "kernels/operation.hpp"

/// What references of codecs share. Their results must be met exactly, so every step that the
/// codec rounds to float is rounded here too: a double holds the product of two floats exactly and
/// has the digits for a sum or quotient to be rounded twice without harm.
namespace paceline::kernels {

inline double to_float(double x) { return static_cast<double>(static_cast<float>(x)); }

/// As an element of the type is read back.
inline double stored(DType type, double x) {
  unsigned char bytes[8];
  set_element(bytes, type, 0, x);
  return element(bytes, type, 0);
}

inline double largest_magnitude(const double* x, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

inline double scale_reference(double largest, double top) {
  return std::max(to_float(largest / top), double{numeric::kSmallestNormal});
}

/// Among the codes 0 ... last, whose decoded values rise, the one nearest to |x|; ties to even.
template <class Decode>
std::uint32_t nearest_code(double x, std::uint32_t last, const Decode& decode) {
  std::uint32_t best = 0;
  const double magnitude = std::abs(x);
  for (std::uint32_t code = 1; code <= last; ++code) {
    const double now = std::abs(static_cast<double>(decode(code)) - magnitude);
    const double before = std::abs(static_cast<double>(decode(best)) - magnitude);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return best;
}

}  // namespace paceline::kernels

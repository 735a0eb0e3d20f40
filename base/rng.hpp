// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/error.hpp"

namespace paceline::base {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014,
/// figure 16): the only source of randomness here. The same seed gives the same numbers everywhere,
/// which the distributions of <random> do not promise.
class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed) : state_(seed) {}

  /// 64 uniform bits.
  constexpr std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0 … n-1, n at least 1; without the bias of a remainder.
  constexpr std::uint64_t below(std::uint64_t n) {
    PACELINE_CHECK(n > 0);
    const std::uint64_t reject = (0 - n) % n;  // 2^64 mod n
    std::uint64_t bits = next();
    while (bits < reject) bits = next();
    return bits % n;
  }

 private:
  std::uint64_t state_;
};

}  // namespace paceline::base

// SPDX-License-Identifier: Apache-2.0
// Every code of every small format, and rounding between neighbours, against values computed from
// sign, exponent and mantissa in double precision.
#include "base/numeric/float_formats.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/rng.hpp"

using namespace paceline::numeric;

namespace {

/// The format as its specification states it; `codes`: finite codes without sign, from 0 on.
struct Layout {
  int exponent, mantissa, bias;
  std::uint32_t codes;
  bool infinity, nan;
  double largest;  ///< as the specification's table prints it
};
constexpr Layout kBf16{8, 7, 127, 0x7f80, true, true, 0x1.fep127};
constexpr Layout kFp16{5, 10, 15, 0x7c00, true, true, 65504};
constexpr Layout kE4m3{4, 3, 7, 0x7f, false, true, 448};
constexpr Layout kE5m2{5, 2, 15, 0x7c, true, true, 57344};
constexpr Layout kE2m1{2, 1, 1, 0x8, false, false, 6};

double value_of(const Layout& f, std::uint32_t code) {
  const std::uint32_t mantissa = code & ((1U << f.mantissa) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa) & ((1 << f.exponent) - 1);
  const double sign = (code >> (f.exponent + f.mantissa) & 1U) != 0 ? -1 : 1;
  const double share = static_cast<double>(mantissa) / (1 << f.mantissa);
  return exponent == 0 ? sign * std::ldexp(share, 1 - f.bias)
                       : sign * std::ldexp(1 + share, exponent - f.bias);
}

/// Finite magnitudes only.
template <class F>
void check_codes(const Layout& f) {
  CHECK(value_of(f, f.codes - 1) == f.largest);
  std::uint32_t wrong = 0;
  for (std::uint32_t code = 0; code < f.codes; ++code) {
    for (const std::uint32_t sign : {0U, F::kSign}) {
      const float decoded = F::decode(code | sign);
      const double wanted = value_of(f, code | sign);
      const bool same = double{decoded} == wanted && std::signbit(decoded) == (sign != 0);
      if (!same || F::encode(decoded) != (code | sign)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

/// Between neighbours: the middle goes to the even code, its own neighbours to the nearer one.
template <class F>
void check_rounding(const Layout& f) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  std::uint32_t wrong = 0;
  for (std::uint32_t code = 0; code + 1 < f.codes; ++code) {
    const double middle = (value_of(f, code) + value_of(f, code + 1)) / 2;
    const auto x = static_cast<float>(middle);
    REQUIRE(double{x} == middle);
    for (const std::uint32_t sign : {0U, F::kSign}) {
      const float s = sign == 0 ? 1.0F : -1.0F;
      if (F::encode(s * x) != (sign | (code + (code & 1U)))) ++wrong;
      if (F::encode(s * std::nextafter(x, 0.0F)) != (sign | code)) ++wrong;
      if (F::encode(s * std::nextafter(x, kFar)) != (sign | (code + 1))) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

template <class F>
void check_beyond(const Layout& f, Beyond beyond) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto largest = static_cast<float>(f.largest);
  const auto half = static_cast<float>((f.largest - value_of(f, f.codes - 2)) / 2);
  const std::uint32_t top = f.codes - 1, over = beyond == Beyond::Infinity ? f.codes : top;
  CHECK(F::kTop == top);
  for (const std::uint32_t sign : {0U, F::kSign}) {
    const float s = sign == 0 ? 1.0F : -1.0F;
    CHECK(F::encode(s * std::nextafter(largest + half, 0.0F)) == (sign | top));
    CHECK(F::encode(s * (largest + half)) == (sign | over));  // the code above would be even
    CHECK(F::encode(s * std::numeric_limits<float>::max()) == (sign | over));
    CHECK(F::encode(s * kInfinity) == (sign | over));
    if (f.infinity) CHECK(F::decode(sign | f.codes) == s * kInfinity);
  }
}

/// Codes above infinity (or above the largest, without one) are NaN, and NaN becomes one of them.
template <class F>
void check_nan(const Layout& f) {
  const std::uint32_t first = f.codes + (f.infinity ? 1 : 0);
  for (std::uint32_t code = first; code < F::kSign; ++code) {
    CHECK(std::isnan(F::decode(code)));
    CHECK(std::isnan(F::decode(code | F::kSign)));
  }
  for (const std::uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0x7fffffffU}) {
    CHECK(std::isnan(F::decode(F::encode(float_of(bits)))));
    CHECK(F::encode(float_of(bits)) <= (2 * F::kSign - 1));
  }
}

/// Below half the smallest subnormal is zero, of the same sign.
template <class F>
void check_tiny(const Layout& f) {
  const auto half = static_cast<float>(value_of(f, 1) / 2);
  for (const std::uint32_t sign : {0U, F::kSign}) {
    const float s = sign == 0 ? 1.0F : -1.0F;
    CHECK(F::encode(s * half) == sign);  // a tie
    CHECK(F::encode(s * std::nextafter(half, 1.0F)) == (sign | 1U));
    CHECK(F::encode(s * std::numeric_limits<float>::denorm_min()) == sign);
    CHECK(F::encode(s * 0.0F) == sign);
  }
}

template <class F>
void check_format(const Layout& f, Beyond beyond) {
  check_codes<F>(f);
  check_rounding<F>(f);
  check_beyond<F>(f, beyond);
  if (f.nan) check_nan<F>(f);
  check_tiny<F>(f);
}

}  // namespace

TEST_CASE("bf16 keeps its codes and rounds to nearest even", "[kernels]") {
  check_format<Bf16>(kBf16, Beyond::Infinity);
}
TEST_CASE("fp16 keeps its codes and rounds to nearest even", "[kernels]") {
  check_format<Fp16>(kFp16, Beyond::Infinity);
}
TEST_CASE("E4M3 keeps its codes, rounds to nearest even and saturates", "[kernels]") {
  check_format<E4m3>(kE4m3, Beyond::Saturate);
}
TEST_CASE("E5M2 keeps its codes, rounds to nearest even and saturates", "[kernels]") {
  check_format<E5m2>(kE5m2, Beyond::Saturate);
}
TEST_CASE("E2M1 keeps its codes, rounds to nearest even and saturates", "[kernels]") {
  check_format<E2m1>(kE2m1, Beyond::Saturate);
  const double values[] = {0, 0.5, 1, 1.5,
                           2, 3,   4, 6};  // OCP Microscaling Formats 1.0, section 5.3.3
  for (std::uint32_t code = 0; code < 8; ++code) CHECK(double{E2m1::decode(code)} == values[code]);
  CHECK(E2m1::encode(std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("random floats go to the nearest bf16 and fp16", "[kernels]") {
  paceline::base::Rng rng(5);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(rng.next());
    if ((bits & 0x7f800000U) == 0x7f800000U) continue;
    const float x = float_of(bits);
    const std::uint32_t wide = Bf16::encode(x), half = Fp16::encode(x);
    // No neighbour is nearer; an infinity is where the largest value's next step would round to.
    for (const std::uint32_t other : {wide - 1, wide + 1}) {
      if ((other & 0x7fff) > 0x7f7f || (wide & 0x7fff) == 0x7f80) continue;
      if (std::abs(value_of(kBf16, other) - double{x}) <
          std::abs(value_of(kBf16, wide) - double{x}))
        FAIL(x << " is nearer to bf16 " << other << " than to " << wide);
    }
    for (const std::uint32_t other : {half - 1, half + 1}) {
      if ((other & 0x7fff) > 0x7bff || (half & 0x7fff) == 0x7c00) continue;
      if (std::abs(value_of(kFp16, other) - double{x}) <
          std::abs(value_of(kFp16, half) - double{x}))
        FAIL(x << " is nearer to fp16 " << other << " than to " << half);
    }
    if ((half & 0x7fff) == 0x7c00) CHECK(std::abs(x) >= 65520);
    if ((wide & 0x7fff) == 0x7f80) CHECK(double{std::abs(x)} >= 0x1.ffp127);
  }
}

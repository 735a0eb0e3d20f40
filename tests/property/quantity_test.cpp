// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"

using namespace paceline::base;

namespace {

/// Values as files hold them (few digits), as arithmetic leaves them (all bits), and the extremes.
double draw(Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return static_cast<double>(rng.below(100'000)) / 100 * std::pow(10, rng.below(16));
    case 1:
      return std::ldexp(static_cast<double>(rng.below(4096)), static_cast<int>(rng.below(50)));
    case 2:
      return rng.uniform() * std::pow(10, rng.uniform(-12, 18));
    default:
      return std::ldexp(rng.uniform(), static_cast<int>(rng.below(2000)) - 1000);
  }
}

template <class Quantity, class Parse>
void check(double value, Parse parse) {
  const std::string text = unit_text(Quantity(value));
  INFO(text << " for " << shortest(value));
  REQUIRE(parse(text, "x").value == value);
  REQUIRE(unit_text(parse(text, "x")) == text);
}

}  // namespace

TEST_CASE("the text of a quantity reads back to the same value", "[property]") {
  Rng rng(20240601);
  for (int i = 0; i < 4'000; ++i) {
    const double value = draw(rng);
    check<Seconds>(value, parse_seconds);
    check<Bytes>(value, parse_bytes);
    check<BytesPerSecond>(value, parse_rate);
    check<FlopsPerSecond>(value, parse_flops_rate);
    check<Watts>(value, parse_watts);
  }
  using Limit = std::numeric_limits<double>;
  for (const double value : {0.0, Limit::min(), Limit::denorm_min(), Limit::max()}) {
    check<Seconds>(value, parse_seconds);
    check<Bytes>(value, parse_bytes);
  }
}

TEST_CASE("what was written as number and unit comes back as it was meant", "[property]") {
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(1 + rng.below(999));
    CHECK(unit_text(parse_rate(number + " GB/s", "x")) == number + " GB/s");
    CHECK(unit_text(parse_seconds(number + " us", "x")) == number + " us");
    CHECK(unit_text(parse_flops_rate(number + " TFLOP/s", "x")) == number + " TFLOP/s");
  }
}

TEST_CASE("the shortest text of a double reads back to the same double", "[property]") {
  Rng rng(11);
  for (int i = 0; i < 4'000; ++i) {
    const double value = draw(rng) * (rng.below(2) == 0 ? 1 : -1);
    const double infinite = std::numeric_limits<double>::infinity();
    REQUIRE(parse_number(shortest(value), "x", -infinite, infinite) == value);
  }
}

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

/// Returns whether the value is one a file may hold.
template <class Quantity, class Parse>
bool check(double value, Parse parse) {
  const std::string text = unit_text(Quantity(value));
  INFO(text << " for " << shortest(value));
  Quantity read;
  try {
    read = parse(text, "x");
  } catch (const Error& error) {
    REQUIRE_THAT(error.what(), Catch::Contains(" is out of range; "));
    return false;
  }
  REQUIRE(read.value == value);
  REQUIRE(unit_text(read) == text);
  return true;
}

}  // namespace

TEST_CASE("the text of a quantity reads back to the same value", "[property]") {
  Rng rng(20240601);
  int held = 0;
  for (int i = 0; i < 4'000; ++i) {
    const double value = draw(rng);
    held += check<Seconds>(value, parse_seconds) ? 1 : 0;
    held += check<Bytes>(value, parse_bytes) ? 1 : 0;
    held += check<BytesPerSecond>(value, parse_rate) ? 1 : 0;
    held += check<FlopsPerSecond>(value, parse_flops_rate) ? 1 : 0;
    held += check<Watts>(value, parse_watts) ? 1 : 0;
  }
  CHECK(held > 10'000);  // of 20,000: the rest lies beyond what can be meant
  using Limit = std::numeric_limits<double>;
  for (const double value : {Limit::min(), Limit::denorm_min(), Limit::max()}) {
    CHECK_FALSE(check<Seconds>(value, parse_seconds));
    CHECK_FALSE(check<Bytes>(value, parse_bytes));
  }
  CHECK(check<Seconds>(0, parse_seconds));
  CHECK(check<Bytes>(0, parse_bytes));
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

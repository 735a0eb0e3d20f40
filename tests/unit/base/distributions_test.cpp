// SPDX-License-Identifier: Apache-2.0
#include "base/distributions.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace paceline::base;

TEST_CASE("exponential and logarithm agree with the C library to a few units in the last place",
          "[base]") {
  Rng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    const double x = rng.uniform(-40, 40);
    CHECK(std::fabs(same_exp(x) / std::exp(x) - 1) < 2e-15);
    const double y = std::exp(rng.uniform(-30, 30));
    CHECK(std::fabs(same_log(y) - std::log(y)) < 4e-16 * std::max(1.0, std::fabs(std::log(y))));
  }
  CHECK(same_exp(0) == 1);
  CHECK(same_log(1) == 0);
  CHECK(same_log(0x1p-1022) == Approx(std::log(0x1p-1022)));
}

TEST_CASE("a normal variable has mean 0, variance 1 and the quantiles of the law", "[base]") {
  Rng rng(2);
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0;
  int below = 0, beyond = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = standard_normal(rng);
    sum += z;
    squares += z * z;
    below += z < -1 ? 1 : 0;
    beyond += std::fabs(z) > 2 ? 1 : 0;
  }
  CHECK(std::fabs(sum / kDraws) < 0.01);
  CHECK(std::fabs(squares / kDraws - 1) < 0.02);
  CHECK(std::fabs(below / double{kDraws} - 0.158655) < 0.004);
  CHECK(std::fabs(beyond / double{kDraws} - 0.045500) < 0.003);
}

TEST_CASE("a Pareto variable has the tail of its shape", "[base]") {
  Rng rng(3);
  constexpr int kDraws = 200'000;
  double sum = 0;
  int beyond = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = pareto(rng, 4);
    CHECK(x >= 1);
    sum += x;
    beyond += x > 2 ? 1 : 0;
  }
  CHECK(std::fabs(sum / kDraws - 4.0 / 3) < 0.01);
  CHECK(std::fabs(beyond / double{kDraws} - 1.0 / 16) < 0.003);
}

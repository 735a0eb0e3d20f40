// SPDX-License-Identifier: Apache-2.0
#include "base/distributions.hpp"

#include <cmath>

namespace paceline::base {
namespace {

// ln 2 in two parts; the first has so few digits that small multiples of it are exact.
constexpr double kLn2High = 0x1.62e42fefap-1;
constexpr double kLn2Low = 0x1.cf79abc9e3b39p-40;

}  // namespace

// x = k ln 2 + r with |r| <= ln 2 / 2; Taylor series of e^r.
double same_exp(double x) {
  PACELINE_CHECK(std::fabs(x) <= 700);
  const double k = std::floor(x * (1 / (kLn2High + kLn2Low)) + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int n = 14; n > 0; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)).
double same_log(double x) {
  PACELINE_CHECK(x > 0 && std::isnormal(x));
  int k = 0;
  double m = std::frexp(x, &k);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --k;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int n = 23; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return k * kLn2High + (k * kLn2Low + 2 * s * sum);
}

double standard_normal(Rng& rng) {
  for (;;) {
    const double x = 2 * rng.uniform() - 1, y = 2 * rng.uniform() - 1;
    const double square = x * x + y * y;
    if (square >= 1 || square < 1e-300) continue;
    return x * std::sqrt(-2 * same_log(square) / square);
  }
}

double lognormal_of_mean_one(Rng& rng, double sigma) {
  return same_exp(sigma * standard_normal(rng) - sigma * sigma / 2);
}

double pareto(Rng& rng, double shape) { return same_exp(-same_log(1 - rng.uniform()) / shape); }

}  // namespace paceline::base

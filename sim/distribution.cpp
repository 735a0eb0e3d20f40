// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "sim/jitter.hpp"

/// Mean and percentiles of a sample of step times.
namespace paceline::sim {
namespace {

constexpr double kOutside = 0.025;  ///< on either side of a 95 % interval
constexpr double kNormal975 = 1.959963984540054;

/// P(K <= k) for k = 0 … n, K binomial (n, q), 0 < q < 1: terms relative to the largest, outwards.
std::vector<double> binomial_cumulative(std::size_t n, double q) {
  std::vector<double> terms(n + 1, 0);
  const auto count = static_cast<double>(n);
  const std::size_t mode = std::min(n, static_cast<std::size_t>((count + 1) * q));
  terms[mode] = 1;
  for (std::size_t k = mode; k > 0 && terms[k] > 0; --k) {
    terms[k - 1] =
        terms[k] * static_cast<double>(k) / (count - static_cast<double>(k) + 1) * (1 - q) / q;
  }
  for (std::size_t k = mode; k < n && terms[k] > 0; ++k) {
    terms[k + 1] =
        terms[k] * (count - static_cast<double>(k)) / (static_cast<double>(k) + 1) * q / (1 - q);
  }
  double sum = 0;
  for (double& term : terms) term = sum += term;
  for (double& term : terms) term /= sum;
  return terms;
}

/// Order statistics: between the l-th and the u-th smallest of n lies the true percentile with
/// probability P(l <= K < u), K the number of times below it (David and Nagaraja, Order Statistics,
/// section 7.1). No bound where even the smallest or largest leaves more than 2.5 % outside.
Estimate percentile(const std::vector<double>& sorted, double q) {
  const std::size_t n = sorted.size();
  const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(n) * q - 1e-9));
  Estimate e;
  e.value = sorted[std::clamp<std::size_t>(rank, 1, n) - 1];
  const std::vector<double> below = binomial_cumulative(n, q);
  std::size_t low = 0;  // the largest l with P(K < l) <= 2.5 %
  while (low < n && below[low] <= kOutside) ++low;
  std::size_t high = 1;  // the smallest u with P(K < u) >= 97.5 %
  while (high <= n && below[high - 1] < 1 - kOutside) ++high;
  if (low > 0) e.low = sorted[low - 1];
  if (high <= n) e.high = sorted[high - 1];
  return e;
}

Estimate mean_of(std::span<const double> times) {
  const auto n = static_cast<double>(times.size());
  Estimate e;
  double beyond = 0;  // differences: exact where all times are equal
  for (const double t : times) beyond += t - times.front();
  e.value = times.front() + beyond / n;
  if (times.size() < 2) return e;
  double squares = 0;
  for (const double t : times) squares += (t - e.value) * (t - e.value);
  const double half = kNormal975 * std::sqrt(squares / (n - 1) / n);
  e.low = e.value - half;
  e.high = e.value + half;
  return e;
}

}  // namespace

StepDistribution distribution_of(std::span<const double> times, std::uint64_t seed) {
  PACELINE_CHECK(!times.empty());
  std::vector<double> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  StepDistribution d;
  d.repetitions = static_cast<int>(times.size());
  d.seed = seed;
  d.mean = mean_of(sorted);
  d.p50 = percentile(sorted, 0.5);
  d.p95 = percentile(sorted, 0.95);
  d.p99 = percentile(sorted, 0.99);
  return d;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

/// Reductions of one row on the processor: sixteen partial results side by side, which the compiler
/// turns into vector instructions; one running result would wait for every addition.
namespace paceline::kernels {

inline constexpr std::int64_t kLanes = 16;

/// Sum of f(i) over 0 <= i < n.
template <class F>
float sum_over(std::int64_t n, const F& f) {
  float part[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) part[k] += f(i + k);
  }
  for (std::int64_t k = 0; k < n - whole; ++k) part[k] += f(whole + k);
  float sum = 0;
  for (const float p : part) sum += p;
  return sum;
}

/// Largest f(i) over 0 <= i < n, at least `least`.
template <class F>
float max_over(std::int64_t n, float least, const F& f) {
  float part[kLanes];
  for (float& p : part) p = least;
  const auto keep = [](float& p, float value) { p = value > p ? value : p; };
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) keep(part[k], f(i + k));
  }
  for (std::int64_t k = 0; k < n - whole; ++k) keep(part[k], f(whole + k));
  for (const float p : part) keep(least, p);
  return least;
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax/softmax.hpp"

#include <algorithm>
#include <cmath>

#include "base/numeric/elementary.hpp"
#include "kernels/cpu_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 1e-5;

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c), Fill::Normal, 3},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void forward_reference(const Case& c, Values& v) {
  const std::int64_t n = c.shape["columns"];
  for (auto x = v[0].cbegin(), y = v[1].cbegin(); x != v[0].cend(); x += n, y += n) {
    const double top = *std::max_element(x, x + n);
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    const auto out = v[1].begin() + (y - v[1].cbegin());
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i] - top) / sum;
  }
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  std::vector<float> powers(static_cast<std::size_t>(n));
  float* e = powers.data();
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T* x = call.at<T>(0) + start;
    T* y = call.at<T>(1) + start;
    const float top = max_over(n, static_cast<float>(x[0]),
                               [&](std::int64_t i) { return static_cast<float>(x[i]); });
    for (std::int64_t i = 0; i < n; ++i) e[i] = numeric::exp_of(static_cast<float>(x[i]) - top);
    const float inverse = 1 / sum_over(n, [&](std::int64_t i) { return e[i]; });
    for (std::int64_t i = 0; i < n; ++i) y[i] = T(e[i] * inverse);
  });
}

std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"y", Use::In, c.type, elements(c), Fill::Uniform, 0.1},  // as forward wrote it
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void input_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t start = 0; start < v[0].size(); start += n) {
    double dot = 0;
    for (std::size_t i = start; i < start + n; ++i) dot += v[0][i] * v[1][i];
    for (std::size_t i = start; i < start + n; ++i) v[2][i] = v[0][i] * (v[1][i] - dot);
  }
}

template <class T>
void input_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T *y = call.at<T>(0) + start, *dy = call.at<T>(1) + start;
    T* dx = call.at<T>(2) + start;
    const float dot = sum_over(
        n, [&](std::int64_t i) { return static_cast<float>(y[i]) * static_cast<float>(dy[i]); });
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = T(static_cast<float>(y[i]) * (static_cast<float>(dy[i]) - dot));
  });
}

}  // namespace

std::vector<Operation> softmax_operations() {
  return {
      {"softmax", "forward", "y = exp(x) over its sum, per row", float_types(), forward_tensors,
       [](const Case& c) { return work_of(c, forward_tensors(c), 5); }, row_test_shapes,
       row_bench_shapes, forward_reference, [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
       PACELINE_ON_DEVICE(softmax_forward)},
      {"softmax", "input-gradient", "dx from dy and y", float_types(), input_tensors,
       [](const Case& c) { return work_of(c, input_tensors(c), 4); }, row_test_shapes,
       row_bench_shapes, input_reference, [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
       PACELINE_ON_DEVICE(softmax_input_gradient)}};
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu/swiglu.hpp"

#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 5e-6;

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, 2 * elements(c), Fill::Normal, 2},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void forward_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[1].size(); ++i) {
    const std::size_t at = i + i / n * n;
    v[1][i] = v[0][at] / (1 + std::exp(-v[0][at])) * v[0][at + n];
  }
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T *gate = call.at<T>(0) + 2 * start, *up = gate + n;
    T* y = call.at<T>(1) + start;
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = T(swiglu(static_cast<float>(gate[i]), static_cast<float>(up[i])));
  });
}

std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"x", Use::In, c.type, 2 * elements(c), Fill::Normal, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, 2 * elements(c), {}, 0, kTolerance}};
}

void input_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[1].size(); ++i) {
    const std::size_t at = i + i / n * n;
    const double gate = v[0][at], up = v[0][at + n], s = 1 / (1 + std::exp(-gate));
    v[2][at] = v[1][i] * up * s * (1 + gate * (1 - s));
    v[2][at + n] = v[1][i] * gate * s;
  }
}

template <class T>
void input_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T *gate = call.at<T>(0) + 2 * start, *up = gate + n, *dy = call.at<T>(1) + start;
    T *dgate = call.at<T>(2) + 2 * start, *dup = dgate + n;
    for (std::int64_t i = 0; i < n; ++i) {
      const SwigluSlopes slopes =
          swiglu_slopes(static_cast<float>(gate[i]), static_cast<float>(up[i]));
      const auto g = static_cast<float>(dy[i]);
      dgate[i] = T(g * slopes.gate);
      dup[i] = T(g * slopes.up);
    }
  });
}

}  // namespace

std::vector<Operation> swiglu_operations() {
  return {
      {"swiglu", "forward", "y = gate sigmoid(gate) up", float_types(), forward_tensors,
       [](const Case& c) { return work_of(c, forward_tensors(c), 5); }, row_test_shapes,
       row_bench_shapes, forward_reference, [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
       PACELINE_ON_DEVICE(swiglu_forward)},
      {"swiglu", "input-gradient", "gradients of gate and up", float_types(), input_tensors,
       [](const Case& c) { return work_of(c, input_tensors(c), 11); }, row_test_shapes,
       row_bench_shapes, input_reference, [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
       PACELINE_ON_DEVICE(swiglu_input_gradient)}};
}

}  // namespace paceline::kernels

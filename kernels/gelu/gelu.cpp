// SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu/gelu.hpp"

#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 5e-6;
constexpr double kPi = 3.14159265358979323846;

double inner(double x) { return std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x); }

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c), Fill::Normal, 2},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void forward_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i)
    v[1][i] = v[0][i] / 2 * (1 + std::tanh(inner(v[0][i])));
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = elements(call.c);
  const T* x = call.at<T>(0);
  T* y = call.at<T>(1);
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(gelu(static_cast<float>(x[i])));
}

std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c), Fill::Normal, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void input_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    const double x = v[0][i], t = std::tanh(inner(x));
    const double slope = std::sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x);
    v[2][i] = v[1][i] * ((1 + t) / 2 + x / 2 * (1 - t * t) * slope);
  }
}

template <class T>
void input_cpu(const Call& call) {
  const std::int64_t n = elements(call.c);
  const T *x = call.at<T>(0), *dy = call.at<T>(1);
  T* dx = call.at<T>(2);
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = T(static_cast<float>(dy[i]) * gelu_slope(static_cast<float>(x[i])));
}

}  // namespace

std::vector<Operation> gelu_operations() {
  return {
      {"gelu", "forward", "y = x Phi(x), the form with tanh", float_types(), forward_tensors,
       [](const Case& c) { return work_of(c, forward_tensors(c), 9); }, row_test_shapes,
       row_bench_shapes, forward_reference, [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
       PACELINE_ON_DEVICE(gelu_forward)},
      {"gelu", "input-gradient", "dx from dy and x", float_types(), input_tensors,
       [](const Case& c) { return work_of(c, input_tensors(c), 18); }, row_test_shapes,
       row_bench_shapes, input_reference, [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
       PACELINE_ON_DEVICE(gelu_input_gradient)}};
}

}  // namespace paceline::kernels

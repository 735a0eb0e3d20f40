// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm/rmsnorm.hpp"

#include <cmath>

#include "kernels/cpu_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, c.shape["columns"]},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance},
          {"r", Use::Out, DType::F32, c.shape["rows"], {}, 0, kTolerance}};
}
Work forward_work(const Case& c) { return work_of(c, forward_tensors(c), 4); }

void forward_reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             n = static_cast<std::size_t>(c.shape["columns"]);
  const auto &x = v[0], &w = v[1];
  for (std::size_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += x[row * n + i] * x[row * n + i];
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + double{kRmsnormEpsilon});
    for (std::size_t i = 0; i < n; ++i) v[2][row * n + i] = x[row * n + i] * r * w[i];
    v[3][row] = r;
  }
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T* x = call.at<T>(0) + start;
    const float* w = call.at<float>(1);
    T* y = call.at<T>(2) + start;
    const float squares = sum_over(n, [&](std::int64_t i) {
      const auto value = static_cast<float>(x[i]);
      return value * value;
    });
    const float r = rms_inverse(squares / static_cast<float>(n));
    for (std::int64_t i = 0; i < n; ++i) y[i] = T(static_cast<float>(x[i]) * r * w[i]);
    call.at<float>(3)[row] = r;
  });
}

// dx and dw read r as forward wrote it: here any positive number does.
std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, c.shape["columns"]},
          {"r", Use::In, DType::F32, c.shape["rows"], Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}
Work input_work(const Case& c) { return work_of(c, input_tensors(c), 8); }

void input_reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             n = static_cast<std::size_t>(c.shape["columns"]);
  const auto &x = v[0], &w = v[1], &dy = v[3];
  for (std::size_t row = 0; row < rows; ++row) {
    const double r = v[2][row];
    double dot = 0;
    for (std::size_t i = row * n; i < row * n + n; ++i) dot += dy[i] * w[i - row * n] * x[i];
    for (std::size_t i = row * n; i < row * n + n; ++i)
      v[4][i] = r * (dy[i] * w[i - row * n] - x[i] * r * r * dot / static_cast<double>(n));
  }
}

template <class T>
void input_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T *x = call.at<T>(0) + start, *dy = call.at<T>(3) + start;
    const float* w = call.at<float>(1);
    T* dx = call.at<T>(4) + start;
    const float r = call.at<float>(2)[row];
    const float dot = sum_over(n, [&](std::int64_t i) {
      return static_cast<float>(dy[i]) * w[i] * static_cast<float>(x[i]);
    });
    const float share = rmsnorm_share(dot / static_cast<float>(n), r);
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = T(rmsnorm_dx(static_cast<float>(dy[i]), w[i], static_cast<float>(x[i]), r, share));
  });
}

std::vector<TensorSpec> weight_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"r", Use::In, DType::F32, c.shape["rows"], Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dw", Use::Out, DType::F32, c.shape["columns"], {}, 0, kTolerance},
          {"partial", Use::Scratch, DType::F32,
           column_slice_count(c.shape["rows"], c.shape["columns"]) * c.shape["columns"]}};
}
Work weight_work(const Case& c) { return work_of(c, weight_tensors(c), 3); }

void weight_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[0].size(); ++i) v[3][i % n] += v[2][i] * v[0][i] * v[1][i / n];
}

template <class T>
void weight_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  float* dw = call.at<float>(3);
  for (std::int64_t i = 0; i < n; ++i) dw[i] = 0;
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T *x = call.at<T>(0) + start, *dy = call.at<T>(2) + start;
    const float r = call.at<float>(1)[row];
    for (std::int64_t i = 0; i < n; ++i)
      dw[i] += static_cast<float>(dy[i]) * static_cast<float>(x[i]) * r;
  });
}

}  // namespace

std::vector<Operation> rmsnorm_operations() {
  return {{"rmsnorm", "forward", "y = x / rms(x) * w, and 1/rms", float_types(), forward_tensors,
           forward_work, row_test_shapes, row_bench_shapes, forward_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_forward)},
          {"rmsnorm", "input-gradient", "dx from dy and 1/rms", float_types(), input_tensors,
           input_work, row_test_shapes, row_bench_shapes, input_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_input_gradient)},
          {"rmsnorm", "weight-gradient", "dw summed over rows", float_types(), weight_tensors,
           weight_work, row_test_shapes, row_bench_shapes, weight_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, weight_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_weight_gradient)}};
}

}  // namespace paceline::kernels

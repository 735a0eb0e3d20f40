// SPDX-License-Identifier: Apache-2.0
#include "kernels/layernorm/layernorm.hpp"

#include <cmath>

#include "kernels/cpu_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

std::vector<TensorSpec> forward_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], n = c.shape["columns"];
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, n},
          {"b", Use::In, DType::F32, n},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance},
          {"mean", Use::Out, DType::F32, rows, {}, 0, kTolerance},
          {"r", Use::Out, DType::F32, rows, {}, 0, kTolerance}};
}

void forward_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  const auto& x = v[0];
  for (std::size_t row = 0; row < x.size() / n; ++row) {
    double sum = 0, squares = 0;
    for (std::size_t i = row * n; i < row * n + n; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(n);
    for (std::size_t i = row * n; i < row * n + n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + double{kLayernormEpsilon});
    for (std::size_t i = row * n; i < row * n + n; ++i)
      v[3][i] = (x[i] - mean) * r * v[1][i - row * n] + v[2][i - row * n];
    v[4][row] = mean;
    v[5][row] = r;
  }
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T* x = call.at<T>(0) + start;
    const float *w = call.at<float>(1), *b = call.at<float>(2);
    T* y = call.at<T>(3) + start;
    const float sum = sum_over(n, [&](std::int64_t i) { return static_cast<float>(x[i]); });
    const float mean = sum / static_cast<float>(n);
    const float squares = sum_over(n, [&](std::int64_t i) {
      const float centred = static_cast<float>(x[i]) - mean;
      return centred * centred;
    });
    const float r = layernorm_inverse(squares / static_cast<float>(n));
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = T((static_cast<float>(x[i]) - mean) * r * w[i] + b[i]);
    call.at<float>(4)[row] = mean;
    call.at<float>(5)[row] = r;
  });
}

// The gradients read mean and r as forward wrote them: here any number and any positive one do.
std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, c.shape["columns"]},
          {"mean", Use::In, DType::F32, c.shape["rows"], Fill::Normal, 0.1},
          {"r", Use::In, DType::F32, c.shape["rows"], Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}

void input_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  const auto &x = v[0], &w = v[1], &dy = v[4];
  for (std::size_t row = 0; row < x.size() / n; ++row) {
    const double mean = v[2][row], r = v[3][row];
    double sum = 0, dot = 0;
    for (std::size_t i = row * n; i < row * n + n; ++i) {
      const double g = dy[i] * w[i - row * n];
      sum += g;
      dot += g * (x[i] - mean) * r;
    }
    for (std::size_t i = row * n; i < row * n + n; ++i)
      v[5][i] = r * (dy[i] * w[i - row * n] - sum / static_cast<double>(n) -
                     (x[i] - mean) * r * dot / static_cast<double>(n));
  }
}

template <class T>
void input_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T *x = call.at<T>(0) + start, *dy = call.at<T>(4) + start;
    const float* w = call.at<float>(1);
    T* dx = call.at<T>(5) + start;
    const float mean = call.at<float>(2)[row], r = call.at<float>(3)[row];
    const auto g = [&](std::int64_t i) { return static_cast<float>(dy[i]) * w[i]; };
    const auto xhat = [&](std::int64_t i) { return (static_cast<float>(x[i]) - mean) * r; };
    const float mean_g = sum_over(n, g) / static_cast<float>(n);
    const float mean_gx =
        sum_over(n, [&](std::int64_t i) { return g(i) * xhat(i); }) / static_cast<float>(n);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = T(layernorm_dx(g(i), xhat(i), r, mean_g, mean_gx));
  });
}

std::vector<TensorSpec> weight_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], n = c.shape["columns"];
  return {{"x", Use::In, c.type, elements(c)},
          {"mean", Use::In, DType::F32, rows, Fill::Normal, 0.1},
          {"r", Use::In, DType::F32, rows, Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dw", Use::Out, DType::F32, n, {}, 0, kTolerance},
          {"db", Use::Out, DType::F32, n, {}, 0, kTolerance},
          {"partial", Use::Scratch, DType::F32, 2 * column_slice_count(rows, n) * n}};
}

void weight_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    v[4][i % n] += v[3][i] * (v[0][i] - v[1][i / n]) * v[2][i / n];
    v[5][i % n] += v[3][i];
  }
}

template <class T>
void weight_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  float *dw = call.at<float>(4), *db = call.at<float>(5);
  for (std::int64_t i = 0; i < n; ++i) dw[i] = db[i] = 0;
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T *x = call.at<T>(0) + start, *dy = call.at<T>(3) + start;
    const float mean = call.at<float>(1)[row], r = call.at<float>(2)[row];
    for (std::int64_t i = 0; i < n; ++i) {
      dw[i] += static_cast<float>(dy[i]) * ((static_cast<float>(x[i]) - mean) * r);
      db[i] += static_cast<float>(dy[i]);
    }
  });
}

}  // namespace

std::vector<Operation> layernorm_operations() {
  return {
      {"layernorm", "forward", "y = (x - mean) / deviation * w + b", float_types(), forward_tensors,
       [](const Case& c) { return work_of(c, forward_tensors(c), 8); }, row_test_shapes,
       row_bench_shapes, forward_reference, [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
       PACELINE_ON_DEVICE(layernorm_forward)},
      {"layernorm", "input-gradient", "dx from dy, mean and 1/deviation", float_types(),
       input_tensors, [](const Case& c) { return work_of(c, input_tensors(c), 12); },
       row_test_shapes, row_bench_shapes, input_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
       PACELINE_ON_DEVICE(layernorm_input_gradient)},
      {"layernorm", "weight-gradient", "dw and db summed over rows", float_types(), weight_tensors,
       [](const Case& c) { return work_of(c, weight_tensors(c), 5); }, row_test_shapes,
       row_bench_shapes, weight_reference, [](const Call& c) { PACELINE_BY_TYPE(c, weight_cpu); },
       PACELINE_ON_DEVICE(layernorm_weight_gradient)}};
}

}  // namespace paceline::kernels

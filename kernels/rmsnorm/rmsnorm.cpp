// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm/rmsnorm.hpp"

#include <cmath>

#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

std::int64_t elements(const Case& c) { return c.shape["rows"] * c.shape["columns"]; }
double stored_bytes(const Case& c) {
  return static_cast<double>(elements(c)) * static_cast<double>(bytes_of(c.type));
}

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, c.shape["columns"]},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance},
          {"r", Use::Out, DType::F32, c.shape["rows"], {}, 0, kTolerance}};
}
Work forward_work(const Case& c) {
  return {4.0 * static_cast<double>(elements(c)), 2 * stored_bytes(c)};
}

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
  const std::int64_t rows = call["rows"], n = call["columns"];
  const T* x = call.at<T>(0);
  const float* w = call.at<float>(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    float squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(x[row * n + i]);
      squares += value * value;
    }
    const float r = rms_inverse(squares, static_cast<float>(n));
    for (std::int64_t i = 0; i < n; ++i)
      call.at<T>(2)[row * n + i] = T(static_cast<float>(x[row * n + i]) * r * w[i]);
    call.at<float>(3)[row] = r;
  }
}

// dx and dw read r as forward wrote it: here any positive number does.
std::vector<TensorSpec> input_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"w", Use::In, DType::F32, c.shape["columns"]},
          {"r", Use::In, DType::F32, c.shape["rows"], Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dx", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}
Work input_work(const Case& c) {
  return {8.0 * static_cast<double>(elements(c)), 3 * stored_bytes(c)};
}

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
  const std::int64_t rows = call["rows"], n = call["columns"];
  const float* w = call.at<float>(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T *x = call.at<T>(0) + row * n, *dy = call.at<T>(3) + row * n;
    const float r = call.at<float>(2)[row];
    float dot = 0;
    for (std::int64_t i = 0; i < n; ++i)
      dot += static_cast<float>(dy[i]) * w[i] * static_cast<float>(x[i]);
    for (std::int64_t i = 0; i < n; ++i)
      call.at<T>(4)[row * n + i] =
          T(rmsnorm_dx(static_cast<float>(dy[i]), w[i], static_cast<float>(x[i]), r, dot,
                       static_cast<float>(n)));
  }
}

std::vector<TensorSpec> weight_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"r", Use::In, DType::F32, c.shape["rows"], Fill::Uniform, 2},
          {"dy", Use::In, c.type, elements(c)},
          {"dw", Use::Out, DType::F32, c.shape["columns"], {}, 0, kTolerance}};
}
Work weight_work(const Case& c) {
  return {3.0 * static_cast<double>(elements(c)), 2 * stored_bytes(c)};
}

void weight_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[0].size(); ++i) v[3][i % n] += v[2][i] * v[0][i] * v[1][i / n];
}

template <class T>
void weight_cpu(const Call& call) {
  const std::int64_t rows = call["rows"], n = call["columns"];
  float* dw = call.at<float>(3);
  for (std::int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float r = call.at<float>(1)[row];
    for (std::int64_t i = 0; i < n; ++i)
      dw[i] += static_cast<float>(call.at<T>(2)[row * n + i]) *
               static_cast<float>(call.at<T>(0)[row * n + i]) * r;
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"columns", 1}},
          {{"rows", 3}, {"columns", 33}},
          {{"rows", 37}, {"columns", 257}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 1024}, {"columns", 1024}},
          {{"rows", 4096}, {"columns", 4096}},
          {{"rows", 8192}, {"columns", 8192}}};
}

const std::vector<DType> kFloats = {DType::F32, DType::Bf16, DType::F16};

}  // namespace

std::vector<Operation> rmsnorm_operations() {
  return {{"rmsnorm", "forward", "y = x / rms(x) * w, and 1/rms", kFloats, forward_tensors,
           forward_work, test_shapes, bench_shapes, forward_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_forward)},
          {"rmsnorm", "input-gradient", "dx from dy and 1/rms", kFloats, input_tensors, input_work,
           test_shapes, bench_shapes, input_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_input_gradient)},
          {"rmsnorm", "weight-gradient", "dw summed over rows", kFloats, weight_tensors,
           weight_work, test_shapes, bench_shapes, weight_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, weight_cpu); },
           PACELINE_ON_DEVICE(rmsnorm_weight_gradient)}};
}

}  // namespace paceline::kernels

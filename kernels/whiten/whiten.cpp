// SPDX-License-Identifier: Apache-2.0
#include "kernels/whiten/whiten.hpp"

#include <algorithm>

#include "kernels/codec/tables.hpp"
#include "kernels/codec/thin.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

std::vector<TensorSpec> map_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], columns = c.shape["columns"], rank = c.shape["rank"];
  return {{"x", Use::In, c.type, rows * columns},
          {"basis", Use::In, DType::F32, columns * rank},
          {"eigenvalues", Use::In, DType::F32, rank, Fill::Uniform, 4},
          {"tail", Use::In, DType::F32, 1, Fill::Constant, 0.5},
          {"y", Use::Out, c.type, rows * columns, {}, 0, kTolerance},
          {"scratch", Use::Scratch, DType::F32, std::max(rows, columns) * rank}};
}
Work map_work(const Case& c) {
  const auto elements =
      static_cast<double>(c.shape["rows"]) * static_cast<double>(c.shape["columns"]);
  return {4 * elements * static_cast<double>(c.shape["rank"]),
          2 * elements * static_cast<double>(bytes_of(c.type))};
}
std::vector<TensorSpec> statistics_tensors(const Case& c) {
  const std::int64_t columns = c.shape["columns"];
  return {{"x", Use::In, c.type, c.shape["tokens"] * columns},
          {"decay", Use::In, DType::F32, 1, Fill::Uniform, 1},
          {"covariance", Use::InOut, DType::F32, columns * columns, Fill::Normal, 1, kTolerance}};
}
Work statistics_work(const Case& c) {
  const auto tokens = static_cast<double>(c.shape["tokens"]);
  const auto columns = static_cast<double>(c.shape["columns"]);
  return {2 * tokens * columns * columns,
          tokens * columns * static_cast<double>(bytes_of(c.type)) + 8 * columns * columns};
}
std::vector<TensorSpec> eigenvalue_tensors(const Case& c) {
  const std::int64_t columns = c.shape["columns"], rank = c.shape["rank"];
  return {{"covariance", Use::In, DType::F32, columns * columns, Fill::Uniform, 1},
          {"basis", Use::In, DType::F32, columns * rank},
          {"eigenvalues", Use::Out, DType::F32, rank, {}, 0, kTolerance},
          {"tail", Use::Out, DType::F32, 1, {}, 0, 10 * kTolerance},  // a difference of sums
          {"scratch", Use::Scratch, DType::F32, columns * rank}};
}
Work eigenvalue_work(const Case& c) {
  const auto columns = static_cast<double>(c.shape["columns"]);
  const auto rank = static_cast<double>(c.shape["rank"]);
  return {2 * columns * columns * rank, 4 * columns * columns + 8 * columns * rank};
}

/// x U diag(gains) U^T + base x, all in double.
template <bool undo>
void map_reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             columns = static_cast<std::size_t>(c.shape["columns"]),
             rank = static_cast<std::size_t>(c.shape["rank"]);
  const auto power = [](double x) { return std::pow(x, undo ? 0.5 : -0.5); };
  const double tail = v[3][0];
  const auto& u = v[1];
  for (std::size_t i = 0; i < rows; ++i) {
    const double* x = v[0].data() + i * columns;
    double* y = v[4].data() + i * columns;
    for (std::size_t j = 0; j < columns; ++j) y[j] = power(tail) * x[j];
    for (std::size_t k = 0; k < rank; ++k) {
      double part = 0;
      for (std::size_t j = 0; j < columns; ++j) part += x[j] * u[j * rank + k];
      part *= power(std::max(v[2][k], tail)) - power(tail);
      for (std::size_t j = 0; j < columns; ++j) y[j] += part * u[j * rank + k];
    }
  }
}
void statistics_reference(const Case& c, Values& v) {
  const auto columns = static_cast<std::size_t>(c.shape["columns"]);
  const std::size_t tokens = v[0].size() / columns;
  const double decay = v[1][0];
  for (std::size_t i = 0; i < columns * columns; ++i) {
    double sum = 0;
    for (std::size_t t = 0; t < tokens; ++t)
      sum += v[0][t * columns + i / columns] * v[0][t * columns + i % columns];
    v[2][i] = decay * v[2][i] + (1 - decay) * sum / static_cast<double>(tokens);
  }
}
void eigenvalue_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]),
             rank = static_cast<std::size_t>(c.shape["rank"]);
  double trace = 0, known = 0;
  for (std::size_t i = 0; i < n; ++i) trace += v[0][i * n + i];
  for (std::size_t k = 0; k < rank; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        v[2][k] += v[1][i * rank + k] * v[0][i * n + j] * v[1][j * rank + k];
    }
    known += v[2][k];
  }
  const double least = 1e-6 * trace / static_cast<double>(n);
  const double rest = rank < n ? (trace - known) / static_cast<double>(n - rank) : least;
  v[3][0] = std::max(rest, least);
}

template <class T, bool undo>
void map_cpu(const Call& call) {
  const std::int64_t rows = call["rows"], columns = call["columns"], rank = call["rank"];
  const float *basis = call.at<float>(1), tail = call.at<float>(3)[0];
  const float base = numeric::whitening_power(tail, undo);
  float* transposed = call.at<float>(5);
  transpose(basis, transposed, columns, rank);
  std::vector<float> parts(static_cast<std::size_t>(rank)), row(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* x = call.at<T>(0) + i * columns;
    times_thin(x, basis, parts.data(), 1, columns, rank);
    for (std::int64_t j = 0; j < columns; ++j)
      row[static_cast<std::size_t>(j)] = base * static_cast<float>(x[j]);
    for (std::int64_t k = 0; k < rank; ++k)
      add_multiple(parts[static_cast<std::size_t>(k)] *
                       numeric::whitening_gain(call.at<float>(2)[k], tail, undo),
                   transposed + k * columns, row.data(), columns);
    T* y = call.at<T>(4) + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) y[j] = T(row[static_cast<std::size_t>(j)]);
  }
}
template <class T>
void encode_cpu(const Call& call) {
  map_cpu<T, false>(call);
}
template <class T>
void decode_cpu(const Call& call) {
  map_cpu<T, true>(call);
}

/// Columns of x as rows of floats for a few tokens at a time; upper triangle, then mirrored.
template <class T>
void statistics_cpu(const Call& call) {
  const std::int64_t tokens = call["tokens"], n = call["columns"];
  const float decay = call.at<float>(1)[0];
  float* a = call.at<float>(2);
  std::vector<float> sums(static_cast<std::size_t>(n * n)), x(static_cast<std::size_t>(n));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < n; ++j)
      x[static_cast<std::size_t>(j)] = static_cast<float>(call.at<T>(0)[t * n + j]);
    for (std::int64_t i = 0; i < n; ++i)
      add_multiple(x[static_cast<std::size_t>(i)], x.data() + i, sums.data() + i * n + i, n - i);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      a[i * n + j] = numeric::running_mean(
          a[i * n + j], decay, sums[static_cast<std::size_t>(std::min(i, j) * n + std::max(i, j))],
          static_cast<float>(tokens));
  }
}

void eigenvalues_cpu(const Call& call) {
  const std::int64_t n = call["columns"], rank = call["rank"];
  const float *a = call.at<float>(0), *u = call.at<float>(1);
  float *au = call.at<float>(4), *eigenvalues = call.at<float>(2), trace = 0, known = 0;
  times_thin(a, u, au, n, n, rank);
  for (std::int64_t k = 0; k < rank; ++k) eigenvalues[k] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    trace += a[i * n + i];
    for (std::int64_t k = 0; k < rank; ++k) eigenvalues[k] += u[i * rank + k] * au[i * rank + k];
  }
  for (std::int64_t k = 0; k < rank; ++k) known += eigenvalues[k];
  call.at<float>(3)[0] =
      numeric::whitening_tail(trace, known, static_cast<float>(n), static_cast<float>(rank));
}

std::vector<Shape> map_test_shapes() {
  return {{{"rows", 1}, {"columns", 1}, {"rank", 1}},
          {{"rows", 9}, {"columns", 70}, {"rank", 5}},
          {{"rows", 66}, {"columns", 130}, {"rank", 33}}};
}
std::vector<Shape> map_bench_shapes() {
  return {{{"rows", 1024}, {"columns", 1024}, {"rank", 32}},
          {{"rows", 2048}, {"columns", 5504}, {"rank", 32}},
          {{"rows", 4096}, {"columns", 11008}, {"rank", 32}}};
}
std::vector<Shape> statistics_test_shapes() {
  return {{{"tokens", 1}, {"columns", 1}}, {{"tokens", 70}, {"columns", 35}}};
}
std::vector<Shape> statistics_bench_shapes() {
  return {{{"tokens", 2048}, {"columns", 1024}}, {{"tokens", 8192}, {"columns", 4096}}};
}
std::vector<Shape> eigenvalue_test_shapes() {
  return {{{"columns", 1}, {"rank", 1}}, {{"columns", 70}, {"rank", 9}}};
}
std::vector<Shape> eigenvalue_bench_shapes() {
  return {{{"columns", 1024}, {"rank", 32}}, {{"columns", 5504}, {"rank", 32}}};
}

}  // namespace

std::vector<Operation> whiten_operations() {
  return {
      {"whiten", "encode", "a gradient times A_r^-1/2", kFloats, map_tensors, map_work,
       map_test_shapes, map_bench_shapes, map_reference<false>,
       [](const Call& c) { PACELINE_BY_TYPE(c, encode_cpu); }, PACELINE_ON_DEVICE(whiten_encode)},
      {"whiten", "decode", "a whitened gradient times A_r^1/2", kFloats, map_tensors, map_work,
       map_test_shapes, map_bench_shapes, map_reference<true>,
       [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); }, PACELINE_ON_DEVICE(whiten_decode)},
      {"whiten-statistics", "step", "running mean of the inputs' covariance A", kFloats,
       statistics_tensors, statistics_work, statistics_test_shapes, statistics_bench_shapes,
       statistics_reference, [](const Call& c) { PACELINE_BY_TYPE(c, statistics_cpu); },
       PACELINE_ON_DEVICE(whiten_statistics)},
      {"whiten-eigenvalues", "step", "u^T A u of a basis, and the mean of the rest", kFloat,
       eigenvalue_tensors, eigenvalue_work, eigenvalue_test_shapes, eigenvalue_bench_shapes,
       eigenvalue_reference, eigenvalues_cpu, PACELINE_ON_DEVICE(whiten_eigenvalues)}};
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "kernels/muon/muon.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/adamw/step.hpp"
#include "kernels/cpu_rows.hpp"

namespace paceline::kernels {
namespace {

using numeric::Muon;
using Matrix = std::vector<double>;

std::int64_t elements(const Case& c) { return c.shape["rows"] * c.shape["columns"]; }
std::int64_t side(const Case& c) { return std::min(c.shape["rows"], c.shape["columns"]); }

/// Errors of X grow by up to a = 3.4445 a step where a singular value is small.
double tolerance(DType type) { return type == DType::F32 ? 1e-3 : 5e-2; }

std::vector<TensorSpec> tensors(const Case& c) {
  const std::int64_t count = elements(c), square = side(c) * side(c);
  const double of_weight = c.type == DType::F32 ? 1e-4 : 2e-2;
  std::vector<TensorSpec> result = {
      {"g", Use::In, DType::F32, count},
      {"w", Use::InOut, DType::F32, count, Fill::Normal, 1, of_weight},
      {"m", Use::InOut, DType::F32, count, Fill::Normal, 1, kStepTolerance},
      {"settings", Use::In, DType::F32, kSettings<Muon>, Fill::Uniform, 1},
      {"update", Use::Out, c.type, count, Fill::Normal, 1, tolerance(c.type)},
      {"other", Use::Scratch, c.type, count},
      {"gram", Use::Scratch, c.type, square},
      {"poly", Use::Scratch, c.type, square},
      {"partials", Use::Scratch, DType::F32, kMuonPartialCount}};
  if (c.type != DType::F32)
    result.push_back({"copy", Use::Out, c.type, count, Fill::Normal, 1, of_weight});
  return result;
}

/// Products of the five steps; X, A and A's polynomial pass through memory between them.
Work work(const Case& c) {
  const auto count = static_cast<double>(elements(c)), s = static_cast<double>(side(c));
  const auto bytes = static_cast<double>(bytes_of(c.type));
  const double copy = c.type == DType::F32 ? 0 : bytes;
  return {numeric::kNewtonSchulzSteps * (4 * count * s + 2 * s * s * s) + 9 * count,
          count * (4 + 8 + 8 + copy + 2 * bytes) +
              numeric::kNewtonSchulzSteps * bytes * (3 * count + 4 * s * s)};
}

/// `rounded` to the stored type after every product, which the steps multiply.
void round_to(DType type, Matrix& x) {
  unsigned char stored[8];
  for (double& value : x) {
    set_element(stored, type, 0, value);
    value = element(stored, type, 0);
  }
}

/// a (m x k) times b (k x n).
Matrix times(const Matrix& a, const Matrix& b, std::size_t m, std::size_t n, std::size_t k) {
  Matrix result(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j) result[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  return result;
}
Matrix transpose(const Matrix& x, std::size_t rows, std::size_t columns) {
  Matrix result(x.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = x[i * columns + j];
  }
  return result;
}

/// On a matrix that is not tall.
void orthogonalise(DType type, Matrix& x, std::size_t rows, std::size_t columns) {
  const double a = double{numeric::kNewtonSchulzA}, b = double{numeric::kNewtonSchulzB},
               c = double{numeric::kNewtonSchulzC};
  for (int step = 0; step < numeric::kNewtonSchulzSteps; ++step) {
    Matrix gram = times(x, transpose(x, rows, columns), rows, rows, columns);
    round_to(type, gram);
    Matrix poly = times(gram, gram, rows, rows, rows);
    for (std::size_t i = 0; i < poly.size(); ++i) poly[i] = c * poly[i] + b * gram[i];
    round_to(type, poly);
    const Matrix product = times(poly, x, rows, columns, rows);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * x[i] + product[i];
    round_to(type, x);
  }
}

void reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             columns = static_cast<std::size_t>(c.shape["columns"]);
  const double rate = v[kMuonSettings][0], momentum = v[kMuonSettings][1],
               decay = v[kMuonSettings][2], scale = v[kMuonSettings][3];
  Matrix x(rows * columns);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    v[kMuonMomentum][i] = momentum * v[kMuonMomentum][i] + v[kMuonGradient][i];
    x[i] = v[kMuonGradient][i] + momentum * v[kMuonMomentum][i];
    squares += x[i] * x[i];
  }
  for (double& value : x) value /= std::sqrt(squares) + double{numeric::kNewtonSchulzEpsilon};
  round_to(c.type, x);
  if (rows > columns) {
    x = transpose(x, rows, columns);
    orthogonalise(c.type, x, columns, rows);
    x = transpose(x, columns, rows);
  } else {
    orthogonalise(c.type, x, rows, columns);
  }
  v[kMuonUpdate] = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    v[kMuonWeight][i] -= rate * (scale * x[i] + decay * v[kMuonWeight][i]);
  if (v.size() > kMuonCopy) v[kMuonCopy] = v[kMuonWeight];
}

/// Elements whose squares are summed in fp32.
constexpr std::int64_t kPart = 4096;

template <class T>
void cpu(const Call& call) {
  const auto rule = settings_at<Muon>(call.at<float>(kMuonSettings));
  const std::int64_t count = elements(call.c);
  const float* gradient = call.at<float>(kMuonGradient);
  float *momentum = call.at<float>(kMuonMomentum), *weight = call.at<float>(kMuonWeight);
  double squares = 0;
  for (std::int64_t i = 0; i < count; i += kPart) {
    squares += static_cast<double>(sum_over(std::min(kPart, count - i), [&](std::int64_t k) {
      const float u = muon_direction(rule, gradient[i + k], momentum[i + k]);
      return u * u;
    }));
  }
  const float inverse =
      1 / (static_cast<float>(std::sqrt(squares)) + numeric::kNewtonSchulzEpsilon);
  T* x = call.at<T>(kMuonOther);
  for (std::int64_t i = 0; i < count; ++i)
    x[i] = T(muon_again(rule, gradient[i], momentum[i]) * inverse);
  newton_schulz(call, [](const Product& p, Stream) { multiply_cpu(p); }, {});
  const T* update = call.at<T>(kMuonUpdate);
  for (std::int64_t i = 0; i < count; ++i)
    muon_apply(rule, static_cast<float>(update[i]), weight[i]);
  if constexpr (!std::is_same_v<T, float>) {
    T* copy = call.at<T>(kMuonCopy);
    for (std::int64_t i = 0; i < count; ++i) copy[i] = T(weight[i]);
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"columns", 1}},
          {{"rows", 6}, {"columns", 17}},
          {{"rows", 40}, {"columns", 12}},
          {{"rows", 24}, {"columns", 24}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 256}, {"columns", 256}},
          {{"rows", 1024}, {"columns", 1024}},
          {{"rows", 4096}, {"columns", 1024}},
          {{"rows", 4096}, {"columns", 4096}},
          {{"rows", 4096}, {"columns", 14336}}};
}

}  // namespace

std::vector<Operation> muon_operations() {
  return {{"muon",
           "step",
           "momentum made orthogonal by five Newton-Schulz steps",
           {DType::F32, DType::Bf16},
           tensors,
           work,
           test_shapes,
           bench_shapes,
           reference,
           [](const Call& call) {
             if (call.c.type == DType::F32) return cpu<float>(call);
             cpu<numeric::bf16>(call);
           },
           PACELINE_ON_DEVICE(muon_step)}};
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

#include <numeric>

#include "base/distributions.hpp"
#include "base/numeric/sparse_codes.hpp"

namespace paceline::models::codec_parts {

float as_sent(Precision values, float x) {
  switch (values) {
    case Precision::Fp32:
      return x;
    case Precision::Fp16:
      return numeric::Fp16::decode(numeric::Fp16::encode(x));
    case Precision::Bf16:
      return numeric::Bf16::decode(numeric::Bf16::encode(x));
    case Precision::Fp8:
      return numeric::E4m3::decode(numeric::E4m3::encode(x));
  }
  return x;
}

void add_residual(std::span<float> values, CodecState& state) {
  if (state.residual.empty()) return;
  PACELINE_CHECK(state.residual.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += state.residual[i];
}

std::vector<std::size_t> largest(std::span<const float> values, std::int64_t kept) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(kept), values.size());
  const auto before = [&](std::size_t a, std::size_t b) {
    const auto x = numeric::rank_key(values[a]), y = numeric::rank_key(values[b]);
    return x != y ? x > y : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                   before);
  order.resize(count);
  return order;
}

void orthonormalise(std::span<float> basis, std::size_t rows, std::size_t rank) {
  constexpr double kDepends = 1e-5;  // as in base/numeric/low_rank.hpp
  for (std::size_t j = 0; j < rank; ++j) {
    double before = 0;
    for (std::size_t i = 0; i < rows; ++i)
      before += static_cast<double>(basis[i * rank + j]) * basis[i * rank + j];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        double dot = 0;
        for (std::size_t i = 0; i < rows; ++i)
          dot += static_cast<double>(basis[i * rank + j]) * basis[i * rank + k];
        for (std::size_t i = 0; i < rows; ++i)
          basis[i * rank + j] -= static_cast<float>(dot * basis[i * rank + k]);
      }
    }
    double left = 0;
    for (std::size_t i = 0; i < rows; ++i)
      left += static_cast<double>(basis[i * rank + j]) * basis[i * rank + j];
    const double inverse = left <= kDepends * kDepends * before ? 0 : 1 / std::sqrt(left);
    for (std::size_t i = 0; i < rows; ++i)
      basis[i * rank + j] = static_cast<float>(basis[i * rank + j] * inverse);
  }
}

std::vector<float> random_basis(std::size_t columns, std::size_t rank, std::uint64_t seed) {
  base::Rng rng(seed);
  std::vector<float> basis(columns * rank);
  for (float& x : basis) x = static_cast<float>(base::standard_normal(rng));
  orthonormalise(basis, columns, rank);
  return basis;
}

std::vector<float> multiply(std::span<const float> a, std::span<const float> b, std::size_t rows,
                            std::size_t inner, std::size_t columns) {
  std::vector<float> c(rows * columns);
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t k = 0; k < inner; ++k) {
      const double x = a[i * inner + k];
      for (std::size_t j = 0; j < columns; ++j) sums[j] += x * b[k * columns + j];
    }
    for (std::size_t j = 0; j < columns; ++j) c[i * columns + j] = static_cast<float>(sums[j]);
  }
  return c;
}

std::vector<float> transposed(std::span<const float> a, std::size_t rows, std::size_t columns) {
  std::vector<float> t(a.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) t[j * rows + i] = a[i * columns + j];
  }
  return t;
}

void project(const CodecMatrix& m, std::span<const float> basis, std::size_t rank, Precision type) {
  auto coefficients = multiply(m.values, basis, m.rows, m.columns, rank);
  for (float& x : coefficients) x = as_sent(type, x);
  const auto back =
      multiply(coefficients, transposed(basis, m.columns, rank), m.rows, rank, m.columns);
  std::copy(back.begin(), back.end(), m.values.begin());
}

}  // namespace paceline::models::codec_parts

// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

constexpr std::int64_t kChunk = 64;  ///< edge of a transformed square, where none is asked for

std::int64_t edge(const CodecSettings& s, double extent) {
  return std::min<std::int64_t>(s.block == 0 ? kChunk : s.block, whole(extent));
}

/// Places inside a square of c x c take the bits that number it needs.
double index_bytes(double square) { return std::ceil(std::log2(std::max(square, 2.0))) / 8; }

/// The state decays and takes up the gradient; every square of it is transformed, its largest
/// coefficients are sent and taken out of it. What is gathered is transformed back once.
Encoded dct_top_k_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const auto r = static_cast<double>(edge(s, t.rows)), c = static_cast<double>(edge(s, t.columns));
  const double squares = std::ceil(t.rows / r) * std::ceil(t.columns / c) * t.matrices;
  const auto each = static_cast<double>(kept(s, r * c));
  e.wire_bytes = squares * each * (value_bytes(s) + index_bytes(r * c));
  e.sum = CodecSum::Gathered;
  const CodecKernel along_rows = product("gemm", "forward", {}, t.count() / c, c, c);
  const CodecKernel along_columns = product("gemm", "forward", {}, t.count() / r, r, r);
  e.encode = {along_rows, along_columns,
              select_kernel("select-top-k", "kept", t, squares * each, e.wire_bytes), along_rows,
              along_columns};
  e.decode = {scatter_kernel(t, squares * each, e.wire_bytes)};
  e.state_bytes = residual_bytes(t);
  return e;
}

/// DCT-II with orthonormal rows: T[k][i] = sqrt(2/n) cos(pi (i + 1/2) k / n), row 0 over sqrt 2.
std::vector<float> dct(std::size_t n) {
  std::vector<float> t(n * n);
  const auto size = static_cast<double>(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) *
                                static_cast<double>(k) / size);
      t[k * n + i] = static_cast<float>(x * std::sqrt((k == 0 ? 1 : 2) / size));
    }
  }
  return t;
}

/// The square at (row, column) of the matrix: transformed, cut to its largest and back.
void cut_square(const CodecSettings& s, const CodecMatrix& m, std::size_t row, std::size_t column,
                std::size_t r, std::size_t c) {
  std::vector<float> square(r * c);
  for (std::size_t i = 0; i < r; ++i) {
    for (std::size_t j = 0; j < c; ++j)
      square[i * c + j] = m.values[(row + i) * m.columns + column + j];
  }
  const std::vector<float> left = dct(r), right = dct(c);
  auto coefficients = multiply(multiply(left, square, r, r, c), transposed(right, c, c), r, c, c);
  std::vector<float> sent(r * c, 0.0F);
  for (const std::size_t i : largest(coefficients, kept(s, static_cast<double>(r * c))))
    sent[i] = as_sent(s.values, coefficients[i]);
  square = multiply(multiply(transposed(left, r, r), sent, r, r, c), right, r, c, c);
  for (std::size_t i = 0; i < r; ++i) {
    for (std::size_t j = 0; j < c; ++j)
      m.values[(row + i) * m.columns + column + j] = square[i * c + j];
  }
}

void dct_top_k_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  add_residual(m.values, state);
  const std::vector<float> before(m.values.begin(), m.values.end());
  const auto r = static_cast<std::size_t>(edge(s, static_cast<double>(m.rows)));
  const auto c = static_cast<std::size_t>(edge(s, static_cast<double>(m.columns)));
  for (std::size_t row = 0; row < m.rows; row += r) {
    for (std::size_t column = 0; column < m.columns; column += c)
      cut_square(s, m, row, column, std::min(r, m.rows - row), std::min(c, m.columns - column));
  }
  state.residual.resize(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) state.residual[i] = before[i] - m.values[i];
}

}  // namespace

/// DeMo (Peng, Quesnelle, Kingma, Decoupled momentum optimization, arXiv:2411.19870, section 3),
/// the codec of DisTrO. Its momentum is the state here.
Codec dct_top_k_codec() {
  return {"dct-top-k",
          "the largest coefficients of a cosine transform of squares, the rest stays",
          {"keep", "values", "block"},
          dct_top_k_encoded,
          dct_top_k_round_trip};
}

}  // namespace paceline::models

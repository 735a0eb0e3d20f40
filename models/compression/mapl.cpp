// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

constexpr double kPolarSteps = 5;  ///< products of the iteration that brings A back to A^T A = I

/// Bytes of the coordinates of one row: numbers, or `split` x `levels` words of a codebook.
double row_bytes(const CodecSettings& s, double rank) {
  if (s.codebook == 0) return rank * value_bytes(s);
  return static_cast<double>(s.split * s.levels) * std::log2(static_cast<double>(s.codebook)) / 8;
}

/// Z = (X - anchors) A and the 4-byte tokens that say which anchors to add at the other end. Once a
/// step the basis moves along its tangent and is made orthonormal again: A^T dA and A (A^T dA),
/// then per iteration A^T A, its square and A times the polynomial.
Encoded mapl_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const double r = rank_of(s, t), tokens = t.rows * t.matrices, d = t.columns;
  const auto rank = static_cast<std::int64_t>(r);
  e.wire_bytes = tokens * (row_bytes(s, r) + 4);
  e.sum = CodecSum::Values;
  const double anchors = 3 * tokens * d * t.element_bytes;  // read both, write one
  const base::Extents added{{"count", whole(tokens * d)}};
  e.encode = {stream("add", "forward", type_of(t), added, anchors),
              product("low-rank", "project", thin(t, rank), tokens, r, d)};
  e.decode = {product("low-rank", "decode", thin(t, rank), tokens, d, r),
              stream("add", "forward", type_of(t), added, anchors)};
  e.aside = {product("gemm", "forward", {}, r, r, d), product("gemm", "forward", {}, d, r, r),
             product("gemm", "forward", {}, r, r, d, kPolarSteps),
             product("gemm", "forward", {}, r, r, r, kPolarSteps),
             product("gemm", "forward", {}, d, r, r, kPolarSteps)};
  e.state_bytes = 8 * d * r;  // the basis and its momentum; anchors come with the embedding
  if (s.codebook > 0) {
    // The nearest word is the largest product with the words less half their length; the other end
    // looks words up.
    const auto words = static_cast<double>(s.codebook);
    e.encode.push_back(product("gemm", "forward", {}, tokens * static_cast<double>(s.split), words,
                               r / static_cast<double>(s.split), static_cast<double>(s.levels)));
    e.decode.insert(e.decode.begin(),
                    stream("add", "forward", type_of(t), {{"count", whole(tokens * r)}},
                           tokens * r * t.element_bytes * static_cast<double>(1 + s.levels)));
    e.state_bytes += 4 * words * r * static_cast<double>(s.levels);
  }
  return e;
}

/// Columns [first, first + size) of the coordinates, of every row, onto their nearest words: the
/// words are rows spread over the batch, moved twice to the mean of those nearest to them (Lloyd).
/// What is left is done again.
void quantise_part(const CodecSettings& s, std::span<float> z, std::size_t rank, std::size_t first,
                   std::size_t size) {
  const std::size_t rows = z.size() / rank;
  const auto words = std::min(static_cast<std::size_t>(s.codebook), rows);
  std::vector<float> left(rows * size), sum(rows * size, 0.0F), word(words * size);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < size; ++j) left[i * size + j] = z[i * rank + first + j];
  std::vector<std::size_t> nearest(rows);
  const auto assign = [&] {
    for (std::size_t i = 0; i < rows; ++i) {
      double best = -1;
      for (std::size_t w = 0; w < words; ++w) {
        double away = 0;
        for (std::size_t j = 0; j < size; ++j) {
          const double d = static_cast<double>(left[i * size + j]) - word[w * size + j];
          away += d * d;
        }
        if (best >= 0 && away >= best) continue;
        best = away;
        nearest[i] = w;
      }
    }
  };
  for (std::int64_t level = 0; level < s.levels; ++level) {
    for (std::size_t w = 0; w < words; ++w)
      std::copy_n(left.begin() + static_cast<std::ptrdiff_t>(w * rows / words * size), size,
                  word.begin() + static_cast<std::ptrdiff_t>(w * size));
    for (int move = 0; move < 2; ++move) {
      assign();
      std::vector<double> mean(words * size, 0.0), count(words, 0.0);
      for (std::size_t i = 0; i < rows; ++i) {
        ++count[nearest[i]];
        for (std::size_t j = 0; j < size; ++j) mean[nearest[i] * size + j] += left[i * size + j];
      }
      for (std::size_t k = 0; k < word.size(); ++k)
        if (count[k / size] > 0) word[k] = static_cast<float>(mean[k] / count[k / size]);
    }
    assign();
    for (std::size_t k = 0; k < left.size(); ++k) {
      sum[k] += word[nearest[k / size] * size + k % size];
      left[k] -= word[nearest[k / size] * size + k % size];
    }
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < size; ++j) z[i * rank + first + j] = sum[i * size + j];
}

/// Values are those after the anchors are taken off. The basis follows the data: a step along the
/// gradient of the energy kept, then orthonormal columns.
void mapl_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  const std::size_t rank = std::min(static_cast<std::size_t>(s.rank), m.columns);
  if (state.basis.empty()) state.basis = random_basis(m.columns, rank, state.seed);
  const auto coordinates = multiply(m.values, state.basis, m.rows, m.columns, rank);
  const auto flipped = transposed(m.values, m.rows, m.columns);
  std::vector<float> moved = multiply(flipped, coordinates, m.columns, m.rows, rank);
  if (s.codebook == 0) {
    project(m, state.basis, rank, s.values);
  } else {
    std::vector<float> z = coordinates;
    const std::size_t parts = std::min(static_cast<std::size_t>(s.split), rank);
    for (std::size_t g = 0; g < parts; ++g)
      quantise_part(s, z, rank, g * rank / parts, (g + 1) * rank / parts - g * rank / parts);
    const auto back =
        multiply(z, transposed(state.basis, m.columns, rank), m.rows, rank, m.columns);
    std::copy(back.begin(), back.end(), m.values.begin());
  }
  orthonormalise(moved, m.columns, rank);
  state.basis = std::move(moved);
}

}  // namespace

/// MAPL: a projection with orthonormal columns that is learned, beside anchor embeddings; with
/// `codebook` its coordinates go as words of residual vector quantisation.
Codec mapl_codec() {
  return {"mapl",
          "coordinates in a learned basis, anchors by token added at both ends",
          {"rank", "values", "codebook", "split", "levels"},
          mapl_encoded,
          mapl_round_trip};
}

}  // namespace paceline::models

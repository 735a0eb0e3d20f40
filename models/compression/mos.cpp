// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// fp32 numbers sent with each block of rows, its rotation. How many is not published; 16 are 64
/// bytes beside kilobytes of coordinates.
constexpr double kAngles = 16;

/// Keys and values in a basis that is turned for each block: R = I + A + A^2 / 2 of a skew matrix
/// A, applied to the basis (rank columns) at both ends.
Encoded mos_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const double r = rank_of(s, t), tokens = t.rows * t.matrices, d = t.columns;
  const auto rank = static_cast<std::int64_t>(r);
  e.wire_bytes = tokens * r * value_bytes(s) + 4 * kAngles * t.matrices;
  e.sum = CodecSum::Values;
  const CodecKernel turn = product("gemm", "forward", {}, d, r, d, 2 * t.matrices);
  e.encode = {turn, product("low-rank", "project", thin(t, rank), tokens, r, d)};
  e.decode = {turn, product("low-rank", "decode", thin(t, rank), tokens, d, r)};
  e.state_bytes = 4 * (d * r + d * d);
  return e;
}

/// A bound from above: the turned basis is the one that keeps most of the block's energy, found by
/// two orthogonal iterations from the common basis, where learned angles come close at best.
void mos_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  const std::size_t rank = std::min(static_cast<std::size_t>(s.rank), m.columns);
  if (state.basis.empty()) state.basis = random_basis(m.columns, rank, state.seed);
  std::vector<float> turned = state.basis;
  const auto flipped = transposed(m.values, m.rows, m.columns);
  for (int i = 0; i < 2; ++i) {
    const auto coordinates = multiply(m.values, turned, m.rows, m.columns, rank);
    turned = multiply(flipped, coordinates, m.columns, m.rows, rank);
    orthonormalise(turned, m.columns, rank);
  }
  project(m, turned, rank, s.values);
}

}  // namespace

/// Mixtures of subspaces for context-parallel keys and values.
Codec mos_codec() {
  return {"mos",
          "coordinates in a basis turned for each block of keys or values",
          {"rank", "values"},
          mos_encoded,
          mos_round_trip};
}

}  // namespace paceline::models

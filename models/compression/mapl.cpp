// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

constexpr double kPolarSteps = 5;  ///< products of the iteration that brings A back to A^T A = I

/// Z = (X - anchors) A and the 4-byte tokens that say which anchors to add at the other end. Once a
/// step the basis moves along its tangent and is made orthonormal again: A^T dA and A (A^T dA),
/// then per iteration A^T A, its square and A times the polynomial.
Encoded mapl_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const double r = rank_of(s, t), tokens = t.rows * t.matrices, d = t.columns;
  const auto rank = static_cast<std::int64_t>(r);
  e.wire_bytes = tokens * (r * value_bytes(s) + 4);
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
  return e;
}

/// Values are those after the anchors are taken off. The basis follows the data: a step along the
/// gradient of the energy kept, then orthonormal columns.
void mapl_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  const std::size_t rank = std::min(static_cast<std::size_t>(s.rank), m.columns);
  if (state.basis.empty()) state.basis = random_basis(m.columns, rank, state.seed);
  const auto coordinates = multiply(m.values, state.basis, m.rows, m.columns, rank);
  const auto flipped = transposed(m.values, m.rows, m.columns);
  std::vector<float> moved = multiply(flipped, coordinates, m.columns, m.rows, rank);
  project(m, state.basis, rank, s.values);
  orthonormalise(moved, m.columns, rank);
  state.basis = std::move(moved);
}

}  // namespace

/// MAPL: a projection with orthonormal columns that is learned, beside anchor embeddings.
Codec mapl_codec() {
  return {"mapl",
          "coordinates in a learned basis, anchors by token added at both ends",
          {"rank", "values"},
          mapl_encoded,
          mapl_round_trip};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// Rows are tokens: each is sent as its `rank` coordinates in a basis both ends hold.
Encoded subspace_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const double r = rank_of(s, t), tokens = t.rows * t.matrices;
  const auto rank = static_cast<std::int64_t>(r);
  e.wire_bytes = tokens * r * value_bytes(s);
  e.sum = CodecSum::Values;
  e.encode = {product("low-rank", "project", thin(t, rank), tokens, r, t.columns)};
  e.decode = {product("low-rank", "decode", thin(t, rank), tokens, t.columns, r)};
  e.state_bytes = 4 * t.columns * r;
  return e;
}

void subspace_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  const std::size_t rank = std::min(static_cast<std::size_t>(s.rank), m.columns);
  if (state.basis.empty()) state.basis = random_basis(m.columns, rank, state.seed);
  project(m, state.basis, rank, s.values);
}

}  // namespace

Codec subspace_codec() {
  return {"subspace",
          "coordinates in a fixed basis of a few columns",
          {"rank", "values"},
          subspace_encoded,
          subspace_round_trip};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// P and then Q are summed over the ranks: one power iteration from the Q of the step before.
Encoded power_sgd_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const double r = rank_of(s, t);
  const auto rank = static_cast<std::int64_t>(r);
  e.wire_bytes = t.matrices * (t.rows + t.columns) * r * value_bytes(s);
  e.sum = CodecSum::Values;
  e.encode = {product("low-rank", "project", thin(t, rank), t.rows, r, t.columns, t.matrices),
              product("orthogonalise", "step", {{"rows", whole(t.rows)}, {"rank", rank}}, r, r,
                      t.rows, 2 * t.matrices),
              product("low-rank", "back-project", thin(t, rank), t.columns, r, t.rows, t.matrices)};
  e.decode = {product("low-rank", "decode", thin(t, rank), t.rows, t.columns, r, t.matrices)};
  e.state_bytes = 4 * t.count() + 4 * t.matrices * t.columns * r;
  return e;
}

void power_sgd_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  add_residual(m.values, state);
  const std::size_t rank = std::min({static_cast<std::size_t>(s.rank), m.rows, m.columns});
  if (state.basis.empty()) state.basis = random_basis(m.columns, rank, state.seed);
  std::vector<float> p = multiply(m.values, state.basis, m.rows, m.columns, rank);
  for (float& x : p) x = as_sent(s.values, x);
  orthonormalise(p, m.rows, rank);
  const auto flipped = transposed(m.values, m.rows, m.columns);
  state.basis = multiply(flipped, p, m.columns, m.rows, rank);
  for (float& x : state.basis) x = as_sent(s.values, x);
  const auto back = multiply(p, transposed(state.basis, m.columns, rank), m.rows, rank, m.columns);
  state.residual.resize(m.values.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    state.residual[i] = m.values[i] - back[i];
    m.values[i] = back[i];
  }
}

}  // namespace

/// Vogels, Karimireddy, Jaggi, arXiv:1905.13727, algorithms 1 and 2.
Codec power_sgd_codec() {
  return {"power-sgd",
          "two thin factors of the gradient, the rest stays",
          {"rank", "values"},
          power_sgd_encoded,
          power_sgd_round_trip};
}

}  // namespace paceline::models

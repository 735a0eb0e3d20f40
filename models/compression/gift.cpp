// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/whitening.hpp"
#include "models/compression/scaled.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// FP8 E4M3 of the whitened gradient. Every `refresh` steps the covariance of the layer's inputs
/// takes up a batch, and one orthogonal iteration moves the basis.
Encoded gift_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e = scaled_bytes_encoded("quantise-fp8-e4m3", s, t);
  e.sum = CodecSum::Values;  // the collective adds FP8 as numbers
  const double r = rank_of(s, t), n = t.columns;
  const auto rank = static_cast<std::int64_t>(r);
  const auto whiten = [&](const char* pass) {
    return std::vector<CodecKernel>{
        product("whiten", pass, thin(t, rank), t.rows, r, n, t.matrices),
        product("gemm", "forward", {}, t.rows, n, r, t.matrices)};
  };
  const auto before = whiten("encode"), after = whiten("decode");
  e.encode.insert(e.encode.begin(), before.begin(), before.end());
  e.decode.insert(e.decode.end(), after.begin(), after.end());
  e.aside = {
      product("whiten-statistics", "step", {{"tokens", whole(s.tokens)}, {"columns", whole(n)}}, n,
              n, s.tokens, t.matrices),
      product("low-rank", "project", {{"rows", whole(n)}, {"columns", whole(n)}, {"rank", rank}}, n,
              r, n, 2 * t.matrices)};
  for (CodecKernel& kernel : e.aside) kernel.share = 1 / static_cast<double>(s.refresh);
  e.state_bytes = 4 * t.matrices * (n * n + n * r + r + 1);
  return e;
}

/// values <- values A_r^p: tail^p of them, and along each basis vector what is more.
void whiten(const CodecMatrix& m, std::span<const float> basis, std::span<const float> eigenvalues,
            float tail, bool undo) {
  const std::size_t rank = eigenvalues.size();
  auto coefficients = multiply(m.values, basis, m.rows, m.columns, rank);
  for (std::size_t i = 0; i < m.rows; ++i) {
    for (std::size_t j = 0; j < rank; ++j)
      coefficients[i * rank + j] *= numeric::whitening_gain(eigenvalues[j], tail, undo);
  }
  const auto along =
      multiply(coefficients, transposed(basis, m.columns, rank), m.rows, rank, m.columns);
  const float rest = numeric::whitening_power(tail, undo);
  for (std::size_t i = 0; i < along.size(); ++i) m.values[i] = rest * m.values[i] + along[i];
}

/// The basis follows the largest eigenvectors of the covariance by orthogonal iteration.
struct Spectrum {
  std::vector<float> eigenvalues;
  float tail = 1;
};
Spectrum spectrum(const CodecSettings& s, std::size_t columns, CodecState& state) {
  const std::size_t rank = std::min(static_cast<std::size_t>(s.rank), columns);
  const int iterations = state.basis.empty() ? 30 : 1;
  if (state.basis.empty()) state.basis = random_basis(columns, rank, state.seed);
  for (int i = 0; i < iterations; ++i) {
    state.basis = multiply(state.input_covariance, state.basis, columns, columns, rank);
    orthonormalise(state.basis, columns, rank);
  }
  const auto image = multiply(state.input_covariance, state.basis, columns, columns, rank);
  Spectrum found;
  float trace = 0, known = 0;
  for (std::size_t i = 0; i < columns; ++i) trace += state.input_covariance[i * columns + i];
  for (std::size_t j = 0; j < rank; ++j) {
    double dot = 0;
    for (std::size_t i = 0; i < columns; ++i)
      dot += static_cast<double>(image[i * rank + j]) * state.basis[i * rank + j];
    found.eigenvalues.push_back(static_cast<float>(dot));
    known += found.eigenvalues.back();
  }
  found.tail =
      numeric::whitening_tail(trace, known, static_cast<float>(columns), static_cast<float>(rank));
  return found;
}

void gift_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  if (state.input_covariance.empty()) {  // nothing known of the inputs: they are taken as white
    round_scaled<numeric::E4m3Code>(s, m, state);
    return;
  }
  PACELINE_CHECK(state.input_covariance.size() == m.columns * m.columns);
  const Spectrum found = spectrum(s, m.columns, state);
  whiten(m, state.basis, found.eigenvalues, found.tail, false);
  round_scaled<numeric::E4m3Code>(s, m, state);
  whiten(m, state.basis, found.eigenvalues, found.tail, true);
}

}  // namespace

/// GIFT: low-rank whitening on the input side before FP8 (base/numeric/whitening.hpp).
Codec gift_codec() {
  return {"gift",
          "FP8 E4M3 after whitening by the layer's inputs",
          {"rank", "refresh", "tokens", "block"},
          gift_encoded,
          gift_round_trip};
}

}  // namespace paceline::models

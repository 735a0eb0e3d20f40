// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded top_k_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const auto nonzeros = static_cast<double>(kept(s, t.count()));
  e.wire_bytes = nonzeros * (4 + value_bytes(s));
  e.sum = CodecSum::Gathered;
  e.encode = {select_kernel("select-top-k", "kept", t, nonzeros, e.wire_bytes)};
  e.decode = {scatter_kernel(t, nonzeros, e.wire_bytes)};
  e.state_bytes = residual_bytes(t);
  return e;
}

void top_k_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  add_residual(m.values, state);
  std::vector<char> sent(m.values.size(), 0);
  for (const std::size_t i : largest(m.values, kept(s, static_cast<double>(sent.size()))))
    sent[i] = 1;
  keep_if(s, m.values, state, [&](std::size_t i) { return sent[i] != 0; });
}

}  // namespace

/// Stich, Cordonnier, Jaggi, Sparsified SGD with memory, arXiv:1809.07599.
Codec top_k_codec() {
  return {"top-k",
          "index and value of the largest, the rest stays for the next step",
          {"keep", "values"},
          top_k_encoded,
          top_k_round_trip};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// Every rank knows the mask, made of the first moment of the step before: values alone are sent,
/// and they add up. The owner of a shard of the optimizer makes its part of the next mask beside
/// the next step; a bit per element is gathered.
Encoded scape_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const auto nonzeros = static_cast<double>(kept(s, t.count()));
  e.wire_bytes = nonzeros * value_bytes(s);
  e.sum = CodecSum::Values;
  const base::Extents extents{{"count", whole(t.count())}, {"nonzeros", whole(nonzeros)}};
  e.encode = {stream("pack-bitvector", "encode", type_of(t), extents,
                     t.bytes() + t.count() / 8 + e.wire_bytes)};
  e.decode = {stream("pack-bitvector", "decode", type_of(t), extents,
                     t.bytes() + t.count() / 8 + e.wire_bytes)};
  CodecTensor shard = t;
  shard.rows = t.rows / static_cast<double>(s.workers);
  e.aside = {
      select_kernel("select-top-k", "kept", shard, nonzeros / static_cast<double>(s.workers), 0)};
  e.aside_bytes = t.count() / 8;
  e.state_bytes = residual_bytes(t) + t.count() / 8;
  return e;
}

/// What is sent in a step is masked by the mean of what was decoded before it; the first step sends
/// the largest.
void scape_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  constexpr float kDecay = 0.9F;
  add_residual(m.values, state);
  const std::span<const float> by = state.moment.empty() ? std::span<const float>(m.values)
                                                         : std::span<const float>(state.moment);
  std::vector<char> sent(m.values.size(), 0);
  for (const std::size_t i : largest(by, kept(s, static_cast<double>(sent.size())))) sent[i] = 1;
  if (state.moment.empty()) state.moment.assign(m.values.size(), 0.0F);
  for (std::size_t i = 0; i < sent.size(); ++i)
    state.moment[i] = kDecay * state.moment[i] + (1 - kDecay) * m.values[i];
  keep_if(s, m.values, state, [&](std::size_t i) { return sent[i] != 0; });
}

}  // namespace

/// SCAPE: one mask for all ranks, from the first moment, one step late.
Codec scape_codec() {
  return {"scape",
          "values under a mask made of the first moment one step before",
          {"keep", "values"},
          scape_encoded,
          scape_round_trip};
}

}  // namespace paceline::models

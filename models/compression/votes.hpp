// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/votes.hpp"
#include "models/compression/parts.hpp"

/// Codes that are only counted: signs and ternary values.
namespace paceline::models::codec_parts {

/// Every rank votes on its part of the words of all and sends the result: bits up, bits down. One
/// fp32 scale for all stands beside them. The votes of a part of the tensor by `workers` ranks are
/// as many words as the whole tensor of one.
inline Encoded votes_encoded(std::string_view kernel, double words_bytes, const CodecSettings& s,
                             const CodecTensor& t) {
  Encoded e;
  e.wire_bytes = words_bytes + 4;
  const base::Extents extents{{"count", whole(t.count())}};
  const auto workers = static_cast<double>(s.workers);
  const base::Extents part{{"count", whole(t.count() / workers)}, {"workers", s.workers}};
  e.encode = {stream(kernel, "encode", type_of(t), extents, t.bytes() + words_bytes)};
  e.decode = {stream(kernel, "vote", "u32", part, words_bytes * (1 + 1 / workers)),
              stream(kernel, "decode", type_of(t), extents, t.bytes() + words_bytes)};
  return e;
}

inline float mean_magnitude(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += std::abs(static_cast<double>(x));
  return values.empty() ? 0 : static_cast<float>(sum / static_cast<double>(values.size()));
}

}  // namespace paceline::models::codec_parts

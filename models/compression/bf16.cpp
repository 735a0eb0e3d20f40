// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/float_formats.hpp"
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded bf16_encoded(const CodecSettings&, const CodecTensor& t) {
  Encoded e;
  e.wire_bytes = 2 * t.count();
  e.sum = CodecSum::Values;
  if (t.element_bytes <= 2) return e;  // as it is
  const base::Extents bytes{{"bytes", whole((t.bytes() + e.wire_bytes) / 2)}};
  e.encode = {stream("copy-d2d", "forward", "u8", bytes, t.bytes() + e.wire_bytes)};
  e.decode = e.encode;
  return e;
}

void bf16_round_trip(const CodecSettings&, const CodecMatrix& m, CodecState&) {
  for (float& x : m.values) x = numeric::Bf16::decode(numeric::Bf16::encode(x));
}

}  // namespace

Codec bf16_codec() { return {"bf16", "the upper half of fp32", {}, bf16_encoded, bf16_round_trip}; }

}  // namespace paceline::models

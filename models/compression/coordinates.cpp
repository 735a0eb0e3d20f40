// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded coordinates_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const std::int64_t nonzeros = whole(s.density * t.count());
  const auto bytes = static_cast<std::int64_t>(value_bytes(s));
  e.wire_bytes = static_cast<double>(numeric::coordinate_bytes(nonzeros, bytes));
  e.sum = CodecSum::Gathered;
  const base::Extents extents{{"count", whole(t.count())}, {"nonzeros", nonzeros}};
  e.encode = {stream("pack-coo", "encode", type_of(t), extents, t.bytes() + e.wire_bytes)};
  e.decode = {stream("pack-coo", "decode", type_of(t), extents, t.bytes() + e.wire_bytes)};
  return e;
}

/// Nothing is lost, however many elements are not zero, but what their type cannot hold.
void coordinates_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState&) {
  for (float& x : m.values) x = as_sent(s.values, x);
}

}  // namespace

Codec coordinates_codec() {
  return {"coo",
          "arrays with zeros: index and value of the nonzeros",
          {"density", "values"},
          coordinates_encoded,
          coordinates_round_trip};
}

}  // namespace paceline::models

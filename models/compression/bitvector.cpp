// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded bitvector_encoded(const CodecSettings& s, const CodecTensor& t) {
  const std::int64_t nonzeros = whole(s.density * t.count());
  const auto bytes = static_cast<std::int64_t>(value_bytes(s));
  return packed_encoded(
      "pack-bitvector",
      static_cast<double>(numeric::bitvector_bytes(whole(t.count()), nonzeros, bytes)), s, t);
}

}  // namespace

Codec bitvector_codec() {
  return {"bitvector",
          "arrays with zeros: a bit per element and the nonzero values",
          {"density", "values"},
          bitvector_encoded,
          codec_parts::packed_round_trip};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded coordinates_encoded(const CodecSettings& s, const CodecTensor& t) {
  const std::int64_t nonzeros = whole(s.density * t.count());
  const auto bytes = static_cast<std::int64_t>(value_bytes(s));
  return packed_encoded("pack-coo", static_cast<double>(numeric::coordinate_bytes(nonzeros, bytes)),
                        s, t);
}

}  // namespace

Codec coordinates_codec() {
  return {"coo",
          "arrays with zeros: index and value of the nonzeros",
          {"density", "values"},
          coordinates_encoded,
          codec_parts::packed_round_trip};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/compression/scaled.hpp"

namespace paceline::models {
namespace {

Encoded int8_encoded(const CodecSettings& s, const CodecTensor& t) {
  return codec_parts::scaled_bytes_encoded("quantise-int8", s, t);
}

}  // namespace

Codec int8_codec() {
  return {"int8",
          "8-bit whole numbers and an fp32 scale per block",
          {"block"},
          int8_encoded,
          codec_parts::round_scaled<numeric::Int8Code>};
}

}  // namespace paceline::models

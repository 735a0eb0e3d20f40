// SPDX-License-Identifier: Apache-2.0
#include "models/compression/scaled.hpp"

namespace paceline::models {
namespace {

Encoded fp8_e5m2_encoded(const CodecSettings& s, const CodecTensor& t) {
  return codec_parts::scaled_bytes_encoded("quantise-fp8-e5m2", s, t);
}

}  // namespace

Codec fp8_e5m2_codec() {
  return {"fp8-e5m2",
          "FP8 E5M2 codes and an fp32 scale per block",
          {"block"},
          fp8_e5m2_encoded,
          codec_parts::round_scaled<numeric::E5m2Code>};
}

}  // namespace paceline::models

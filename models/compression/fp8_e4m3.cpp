// SPDX-License-Identifier: Apache-2.0
#include "models/compression/scaled.hpp"

namespace paceline::models {
namespace {

Encoded fp8_e4m3_encoded(const CodecSettings& s, const CodecTensor& t) {
  return codec_parts::scaled_bytes_encoded("quantise-fp8-e4m3", s, t);
}

}  // namespace

Codec fp8_e4m3_codec() {
  return {"fp8-e4m3",
          "FP8 E4M3 codes and an fp32 scale per block",
          {"block"},
          fp8_e4m3_encoded,
          codec_parts::round_scaled<numeric::E4m3Code>};
}

}  // namespace paceline::models

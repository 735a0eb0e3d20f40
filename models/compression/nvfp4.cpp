// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/scaled_codes.hpp"
#include "models/compression/parts.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded nvfp4_encoded(const CodecSettings&, const CodecTensor& t) {
  Encoded e;
  e.wire_bytes = static_cast<double>(numeric::nvfp4_bytes(whole(t.count())));
  const base::Extents extents{{"count", whole(t.count())}};
  e.encode = {
      stream("quantise-nvfp4", "encode", type_of(t), extents, 2 * t.bytes() + e.wire_bytes)};
  e.decode = {stream("quantise-nvfp4", "decode", type_of(t), extents, t.bytes() + e.wire_bytes)};
  return e;
}

float largest_of(std::span<const float> values) {
  std::uint32_t top = 0;
  for (const float x : values) top = std::max(top, numeric::finite_magnitude(x));
  return numeric::float_of(top);
}

void nvfp4_round_trip(const CodecSettings&, const CodecMatrix& m, CodecState&) {
  const std::size_t count = m.values.size();
  const float tensor = numeric::nvfp4_tensor_scale(largest_of(m.values));
  constexpr auto kBlock = static_cast<std::size_t>(numeric::kNvfp4Block);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::span<float> block = m.values.subspan(begin, std::min(kBlock, count - begin));
    const std::uint8_t code = numeric::nvfp4_block_code(largest_of(block), tensor);
    const float scale = numeric::nvfp4_scale(code, tensor);
    const float inverse = numeric::nvfp4_inverse(scale);
    for (float& x : block) x = numeric::E2m1::decode(numeric::E2m1::encode(x * inverse)) * scale;
  }
}

}  // namespace

Codec nvfp4_codec() {
  return {"nvfp4",
          "E2M1 codes, an E4M3 scale per 16 elements and one fp32 scale",
          {},
          nvfp4_encoded,
          nvfp4_round_trip};
}

}  // namespace paceline::models

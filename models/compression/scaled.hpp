// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/scaled_codes.hpp"
#include "models/compression/parts.hpp"

/// Codes of one byte and a scale per block: FP8 and INT8 alike.
namespace paceline::models::codec_parts {

/// The kernels of kernels/quantise: a tensor with one scale is read twice.
inline Encoded scaled_bytes_encoded(std::string_view kernel, const CodecSettings& s,
                                    const CodecTensor& t) {
  Encoded e;
  const double count = t.count();
  e.wire_bytes = static_cast<double>(numeric::scaled_bytes(whole(count), s.block));
  const base::Extents extents{{"count", whole(count)}, {"block", s.block}};
  const double reads = s.block == 0 ? 2 : 1;
  e.encode = {stream(kernel, "encode", type_of(t), extents, reads * t.bytes() + e.wire_bytes)};
  e.decode = {stream(kernel, "decode", type_of(t), extents, t.bytes() + e.wire_bytes)};
  return e;
}

template <class Code>
void round_scaled(const CodecSettings& s, const CodecMatrix& m, CodecState&) {
  const std::size_t count = m.values.size();
  const std::size_t block = s.block == 0 ? count : static_cast<std::size_t>(s.block);
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::span<float> part = m.values.subspan(begin, std::min(block, count - begin));
    std::uint32_t top = 0;
    for (const float x : part) top = std::max(top, numeric::finite_magnitude(x));
    const float scale = numeric::scale_of(numeric::float_of(top), Code::top());
    const float inverse = 1.0F / scale;
    for (float& x : part) x = Code::decode(Code::encode(x * inverse)) * scale;
  }
}

}  // namespace paceline::models::codec_parts

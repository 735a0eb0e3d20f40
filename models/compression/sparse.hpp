// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/sparse_codes.hpp"
#include "models/compression/parts.hpp"

/// Codecs that send some of the elements.
namespace paceline::models::codec_parts {

/// Selection reads the gradient and the residual and writes the residual (kernels/select).
inline CodecKernel select_kernel(std::string_view kernel, std::string_view limit,
                                 const CodecTensor& t, double nonzeros, double sent_bytes) {
  return stream(kernel, "encode", type_of(t),
                {{"count", whole(t.count())}, {std::string(limit), whole(nonzeros)}},
                t.bytes() + 8 * t.count() + sent_bytes);
}

/// Indices and values of one rank into a dense array.
inline CodecKernel scatter_kernel(const CodecTensor& t, double nonzeros, double bytes) {
  return stream("pack-coo", "decode", type_of(t),
                {{"count", whole(t.count())}, {"nonzeros", whole(nonzeros)}}, t.bytes() + bytes);
}

/// Arrays whose zeros are there already: packed by one kernel into so many bytes, and back.
inline Encoded packed_encoded(std::string_view kernel, double wire_bytes, const CodecSettings& s,
                              const CodecTensor& t) {
  Encoded e;
  e.wire_bytes = wire_bytes;
  e.sum = CodecSum::Gathered;
  const base::Extents extents{{"count", whole(t.count())},
                              {"nonzeros", whole(s.density * t.count())}};
  e.encode = {stream(kernel, "encode", type_of(t), extents, t.bytes() + wire_bytes)};
  e.decode = {stream(kernel, "decode", type_of(t), extents, t.bytes() + wire_bytes)};
  return e;
}
/// Nothing is lost, however many elements are not zero, but what their type cannot hold.
inline void packed_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState&) {
  for (float& x : m.values) x = as_sent(s.values, x);
}

inline double residual_bytes(const CodecTensor& t) { return 4 * t.count(); }

}  // namespace paceline::models::codec_parts

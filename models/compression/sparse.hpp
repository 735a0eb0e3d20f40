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

inline double residual_bytes(const CodecTensor& t) { return 4 * t.count(); }

}  // namespace paceline::models::codec_parts

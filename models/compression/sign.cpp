// SPDX-License-Identifier: Apache-2.0
#include "models/compression/votes.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded sign_encoded(const CodecSettings& s, const CodecTensor& t) {
  const auto words = static_cast<double>(numeric::sign_bytes(whole(t.count())));
  return votes_encoded("pack-sign", words, s, t);
}

/// What one worker's vote says: the sign, times the mean magnitude.
void sign_round_trip(const CodecSettings&, const CodecMatrix& m, CodecState&) {
  const float scale = mean_magnitude(m.values);
  for (float& x : m.values) x = std::signbit(x) ? -scale : scale;
}

}  // namespace

/// signSGD with majority vote (Bernstein et al., arXiv:1810.05291).
Codec sign_codec() {
  return {"sign",
          "a bit per element: signs, of which the majority counts",
          {},
          sign_encoded,
          sign_round_trip};
}

}  // namespace paceline::models

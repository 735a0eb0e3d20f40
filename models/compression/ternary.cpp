// SPDX-License-Identifier: Apache-2.0
#include "models/compression/votes.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

Encoded ternary_encoded(const CodecSettings& s, const CodecTensor& t) {
  const auto words = static_cast<double>(numeric::ternary_bytes(whole(t.count())));
  return votes_encoded("pack-ternary", words, s, t);
}

/// Zero below 0.7 of the mean magnitude, else the mean magnitude of what is left with its sign (Li,
/// Zhang, Liu, Ternary weight networks, arXiv:1605.04711, section 2.3).
void ternary_round_trip(const CodecSettings&, const CodecMatrix& m, CodecState&) {
  const float threshold = 0.7F * mean_magnitude(m.values);
  double sum = 0;
  std::int64_t left = 0;
  for (const float x : m.values) {
    if (!numeric::is_plus(x, threshold) && !numeric::is_minus(x, threshold)) continue;
    sum += std::abs(static_cast<double>(x));
    ++left;
  }
  const float scale = left == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(left));
  for (float& x : m.values) {
    x = numeric::is_plus(x, threshold) ? scale : numeric::is_minus(x, threshold) ? -scale : 0.0F;
  }
}

}  // namespace

Codec ternary_codec() {
  return {"ternary",
          "two bits per element: minus, zero, plus, of which the majority counts",
          {},
          ternary_encoded,
          ternary_round_trip};
}

}  // namespace paceline::models

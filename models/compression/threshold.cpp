// SPDX-License-Identifier: Apache-2.0
#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// The shorter one of indices and a bit per element.
Encoded threshold_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const std::int64_t count = whole(t.count()), nonzeros = kept(s, t.count());
  const auto bytes = static_cast<std::int64_t>(value_bytes(s));
  e.wire_bytes = static_cast<double>(std::min(numeric::coordinate_bytes(nonzeros, bytes),
                                              numeric::bitvector_bytes(count, nonzeros, bytes)));
  e.sum = CodecSum::Gathered;
  const auto sent = static_cast<double>(nonzeros);
  e.encode = {select_kernel("select-threshold", "capacity", t, sent, e.wire_bytes)};
  e.decode = {scatter_kernel(t, sent, e.wire_bytes)};
  e.state_bytes = residual_bytes(t);
  return e;
}

/// The threshold is the magnitude that `keep` of a sample of 1000 elements reach, so that how many
/// are sent differs a little from step to step.
float threshold_of(std::span<const float> values, double keep) {
  const std::size_t stride = std::max<std::size_t>(1, values.size() / 1000);
  std::vector<float> sample;
  for (std::size_t i = 0; i < values.size(); i += stride) sample.push_back(std::abs(values[i]));
  const auto count = static_cast<std::size_t>(whole(keep * static_cast<double>(sample.size())));
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(std::min(count, sample.size()) - 1);
  std::nth_element(sample.begin(), at, sample.end(), std::greater<>());
  return *at;
}

void threshold_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  add_residual(m.values, state);
  if (m.values.empty()) return;
  const float threshold = threshold_of(m.values, s.keep);
  keep_if(s, m.values, state, [&](std::size_t i) { return std::abs(m.values[i]) >= threshold; });
}

}  // namespace

Codec threshold_codec() {
  return {"threshold",
          "what is above a magnitude found in a sample, the rest stays",
          {"keep", "values"},
          threshold_encoded,
          threshold_round_trip};
}

}  // namespace paceline::models

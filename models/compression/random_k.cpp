// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "models/compression/sparse.hpp"

namespace paceline::models {
namespace {

using namespace codec_parts;

/// All ranks draw the same places from a common seed: values alone are sent, and they add up.
Encoded random_k_encoded(const CodecSettings& s, const CodecTensor& t) {
  Encoded e;
  const auto nonzeros = static_cast<double>(kept(s, t.count()));
  e.wire_bytes = nonzeros * value_bytes(s);
  e.sum = CodecSum::Values;
  e.encode = {select_kernel("select-threshold", "capacity", t, nonzeros, e.wire_bytes)};
  e.decode = {scatter_kernel(t, nonzeros, e.wire_bytes)};
  e.state_bytes = residual_bytes(t);
  return e;
}

void random_k_round_trip(const CodecSettings& s, const CodecMatrix& m, CodecState& state) {
  add_residual(m.values, state);
  base::Rng rng(state.seed + static_cast<std::uint64_t>(state.step++));
  std::vector<std::size_t> order(m.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto sent = static_cast<std::size_t>(kept(s, static_cast<double>(order.size())));
  std::vector<char> chosen(order.size(), 0);
  for (std::size_t i = 0; i < std::min(sent, order.size());
       ++i) {  // Fisher-Yates, as far as needed
    std::swap(order[i], order[i + static_cast<std::size_t>(rng.below(order.size() - i))]);
    chosen[order[i]] = 1;
  }
  keep_if(s, m.values, state, [&](std::size_t i) { return chosen[i] != 0; });
}

}  // namespace

Codec random_k_codec() {
  return {"random-k",
          "values at places that all ranks draw alike",
          {"keep", "values"},
          random_k_encoded,
          random_k_round_trip};
}

}  // namespace paceline::models

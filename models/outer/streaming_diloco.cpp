// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

namespace paceline::models {
namespace {

/// Fragment f, of the layers f, f + F, f + 2 F ..., goes after the step that ends its part of the
/// round, and may be on its way for `overlap` steps more.
std::vector<OuterSync> streaming_diloco_round(const OuterChoice& outer, int layers) {
  std::vector<OuterSync> syncs;
  for (int f = 0; f < outer.fragments; ++f) {
    const auto end = static_cast<std::int64_t>(f + 1) * outer.inner_steps / outer.fragments;
    OuterSync sync;
    sync.after = static_cast<int>(end) - 1;
    sync.before = sync.after + 1 + outer.overlap;
    for (int l = f; l < layers; l += outer.fragments) sync.layers.push_back(l);
    if (!sync.layers.empty()) syncs.push_back(std::move(sync));
  }
  return syncs;
}

}  // namespace

OuterMethod streaming_diloco_method() {
  return {"streaming-diloco",
          "DiLoCo in fragments of strided layers, each once a round, beside compute",
          "Douillard et al., Streaming DiLoCo, arXiv:2501.18512",
          {"inner_steps", "fragments", "overlap"},
          OuterExchange::Ring,
          streaming_diloco_round};
}

}  // namespace paceline::models

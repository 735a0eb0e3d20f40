// SPDX-License-Identifier: Apache-2.0
#include "models/context/order.hpp"

namespace paceline::models {

/// Token t of the window goes to rank t mod ranks (Brandon et al. 2023, "Striped Attention").
std::vector<Holding> deal_striped(std::span<const Run> runs, int ranks, const Mask&) {
  std::vector<Holding> held(static_cast<std::size_t>(ranks));
  std::int64_t at = 0;
  for (const Run& run : runs) {
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t first = (r - at % ranks + ranks) % ranks;
      if (first >= run.tokens()) continue;
      held[static_cast<std::size_t>(r)].push_back(
          {run.document, run.begin + first, (run.tokens() - 1 - first) / ranks + 1, ranks});
    }
    at += run.tokens();
  }
  return held;
}

}  // namespace paceline::models

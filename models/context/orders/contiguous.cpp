// SPDX-License-Identifier: Apache-2.0
#include "models/context/order.hpp"

namespace paceline::models {

std::vector<Holding> deal_contiguous(std::span<const Run> runs, int ranks, const Mask&) {
  std::int64_t tokens = 0;
  for (const Run& run : runs) tokens += run.tokens();
  std::vector<Holding> held(static_cast<std::size_t>(ranks));
  for (std::int64_t k = 0; k < ranks; ++k)
    append_range(held[static_cast<std::size_t>(k)], runs, cut(tokens, k, ranks),
                 cut(tokens, k + 1, ranks));
  return held;
}

}  // namespace paceline::models

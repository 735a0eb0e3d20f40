// SPDX-License-Identifier: Apache-2.0
#include "models/context/order.hpp"

namespace paceline::models {

/// Rank r holds the r-th and the r-th last of 2 * ranks pieces (Megatron-LM; Zhu, "zigzag ring
/// attention").
std::vector<Holding> deal_zigzag(std::span<const Run> runs, int ranks, const Mask&) {
  std::int64_t tokens = 0;
  for (const Run& run : runs) tokens += run.tokens();
  std::vector<Holding> held(static_cast<std::size_t>(ranks));
  const std::int64_t n = 2 * std::int64_t{ranks};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t rank = k < ranks ? k : n - 1 - k;
    append_range(held[static_cast<std::size_t>(rank)], runs, cut(tokens, k, n),
                 cut(tokens, k + 1, n));
  }
  return held;
}

}  // namespace paceline::models

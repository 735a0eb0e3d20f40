// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/context/order.hpp"

namespace paceline::models {

/// Every document is cut into 2 * ranks pieces, rank r holds the r-th and the r-th last (packed
/// sequences of Transformer Engine). Which rank takes the remainders of short documents goes round.
std::vector<Holding> deal_per_document(std::span<const Run> runs, int ranks, const Mask&) {
  std::vector<Holding> held(static_cast<std::size_t>(ranks));
  const std::int64_t n = 2 * std::int64_t{ranks};
  std::int64_t turn = 0;
  for (const Run& run : runs) {
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t from = cut(run.tokens(), k, n), to = cut(run.tokens(), k + 1, n);
      const std::int64_t rank = ((k < ranks ? k : n - 1 - k) + turn) % ranks;
      if (from < to)
        held[static_cast<std::size_t>(rank)].push_back(
            {run.document, run.begin + from, to - from, 1});
    }
    ++turn;
  }
  for (Holding& holding : held)
    std::stable_sort(holding.begin(), holding.end(),
                     [](const Piece& a, const Piece& b) { return a.document < b.document; });
  return held;
}

}  // namespace paceline::models

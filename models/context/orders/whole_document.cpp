// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "models/context/order.hpp"

namespace paceline::models {
namespace {

struct Load {
  std::int64_t room = 0;  ///< tokens
  std::int64_t work = 0;  ///< twice the area
};

/// Of the ranks with room for so many tokens the one with least work; -1: none.
int least_loaded(const std::vector<Load>& loads, std::int64_t tokens) {
  int best = -1;
  for (std::size_t r = 0; r < loads.size(); ++r) {
    if (loads[r].room < tokens) continue;
    if (best < 0 || loads[r].work < loads[static_cast<std::size_t>(best)].work)
      best = static_cast<int>(r);
  }
  return best;
}

std::int64_t work_of(const Run& run, const Mask& mask) {
  const Piece queries{0, run.begin, run.tokens(), 1}, keys{0, 0, run.end, 1};
  return twice_area(queries, keys, mask);
}

/// Mirrored pieces in proportion to the room the ranks have.
void spread(const Run& run, std::vector<Load>& loads, std::vector<Holding>& held) {
  const std::int64_t room =
      std::accumulate(loads.begin(), loads.end(), std::int64_t{0},
                      [](std::int64_t sum, const Load& l) { return sum + l.room; });
  const auto ranks = static_cast<std::int64_t>(loads.size());
  std::int64_t front = 0, back = run.tokens(), seen = 0, given = 0;
  for (std::int64_t r = 0; r < ranks; ++r) {
    Load& load = loads[static_cast<std::size_t>(r)];
    seen += load.room;
    const std::int64_t share = cut(run.tokens(), seen, room) - given;
    given += share;
    const std::int64_t first = share / 2, last = share - first;
    Holding& holding = held[static_cast<std::size_t>(r)];
    if (first > 0) holding.push_back({run.document, run.begin + front, first, 1});
    if (last > 0) holding.push_back({run.document, run.begin + back - last, last, 1});
    front += first;
    back -= last;
    load.room -= share;
  }
}

}  // namespace

/// A document that fits into the share of a rank (a ranks-th of the window's tokens) is not cut
/// while some rank has room: the heaviest first, to the rank with least attention work. Longer ones
/// are spread like zigzag first, and what found no room at the end. Every rank holds its share: the
/// work beside attention stays equal. FlashCP (abstract) mixes both kinds of sharding; the choice
/// between them is the greedy one here, not the authors' planner.
std::vector<Holding> deal_whole_document(std::span<const Run> runs, int ranks, const Mask& mask) {
  std::int64_t tokens = 0;
  for (const Run& run : runs) tokens += run.tokens();
  std::vector<Holding> held(static_cast<std::size_t>(ranks));
  std::vector<Load> loads(static_cast<std::size_t>(ranks));
  for (std::int64_t r = 0; r < ranks; ++r)
    loads[static_cast<std::size_t>(r)].room = cut(tokens, r + 1, ranks) - cut(tokens, r, ranks);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return work_of(runs[a], mask) > work_of(runs[b], mask);
  });
  std::vector<std::size_t> left;
  for (const std::size_t i : order) {
    const Run& run = runs[i];
    const int rank = least_loaded(loads, run.tokens());
    if (rank >= 0) {
      Load& load = loads[static_cast<std::size_t>(rank)];
      load.room -= run.tokens();
      load.work += work_of(run, mask);
      held[static_cast<std::size_t>(rank)].push_back({run.document, run.begin, run.tokens(), 1});
    } else if (run.tokens() > tokens / ranks) {
      spread(run, loads, held);
    } else {
      left.push_back(i);
    }
  }
  for (const std::size_t i : left) spread(runs[i], loads, held);
  for (Holding& holding : held)
    std::stable_sort(holding.begin(), holding.end(),
                     [](const Piece& a, const Piece& b) { return a.document < b.document; });
  return held;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "sim/circle.hpp"

#include <algorithm>

namespace paceline::sim {
namespace {

/// The waits of all ranks. An action that is reached stands for everything from next[rank] up to
/// the end of its fused group: the order makes it wait for them all. So what can be reached is, per
/// rank, one number: the last position.
class Waits {
 public:
  Waits(const Program& program, const ActionIndex& index, std::span<const std::size_t> next)
      : next_(next), ranks_(program.order.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::vector<Action>& order = program.order[rank];
      Rank& own = ranks_[rank];
      own.first_edge.assign(order.size() + 1, 0);
      own.group_end.resize(order.size());
      for (std::size_t i = order.size(); i-- > 0;) {
        const bool joined = order[i].fused && i + 1 < order.size();
        own.group_end[i] = joined ? own.group_end[i + 1] : static_cast<std::int32_t>(i);
      }
      for (std::size_t i = next[rank]; i < order.size(); ++i) {
        own.first_edge[i] = own.needs.size();
        index.for_each_need(order[i], [&](const Action& need) {
          const Position at = index.position(need);
          if (at.index >= static_cast<std::int32_t>(next[static_cast<std::size_t>(at.rank)]))
            own.needs.push_back(at);
        });
      }
      own.first_edge[order.size()] = own.needs.size();
    }
  }

  std::size_t ranks() const { return ranks_.size(); }
  std::int32_t first(std::size_t rank) const { return static_cast<std::int32_t>(next_[rank]); }
  std::int32_t last(std::size_t rank) const {
    return static_cast<std::int32_t>(ranks_[rank].group_end.size()) - 1;
  }
  std::int32_t group_end(Position at) const {
    return ranks_[static_cast<std::size_t>(at.rank)].group_end[static_cast<std::size_t>(at.index)];
  }
  std::span<const Position> needs(std::size_t rank, std::int32_t index) const {
    const Rank& own = ranks_[rank];
    const auto i = static_cast<std::size_t>(index);
    return std::span(own.needs).subspan(own.first_edge[i],
                                        own.first_edge[i + 1] - own.first_edge[i]);
  }

 private:
  struct Rank {
    std::vector<std::size_t> first_edge;  ///< by position, into needs
    std::vector<Position> needs;          ///< that have not run
    std::vector<std::int32_t> group_end;  ///< by position: last of its fused group
  };
  std::span<const std::size_t> next_;
  std::vector<Rank> ranks_;
};

/// The shortest circle through `start`, the end of a group: breadth first, each position once.
/// Empty when there is none.
std::vector<Wait> circle_through(const Waits& waits, Position start) {
  struct Step {
    Wait wait;
    std::size_t before;  ///< the step that reached wait.action; its own number: the start
  };
  std::vector<Step> steps;
  struct Reached {
    std::size_t rank;
    std::int32_t last;
    std::size_t by;
  };
  constexpr std::size_t kStart = static_cast<std::size_t>(-1);
  std::vector<std::int32_t> scanned(waits.ranks());
  for (std::size_t rank = 0; rank < scanned.size(); ++rank) scanned[rank] = waits.first(rank) - 1;
  std::vector<Reached> queue{{static_cast<std::size_t>(start.rank), start.index, kStart}};
  for (std::size_t q = 0; q < queue.size(); ++q) {
    const Reached from = queue[q];
    for (std::int32_t i = scanned[from.rank] + 1; i <= from.last; ++i) {
      for (const Position& need : waits.needs(from.rank, i)) {
        const std::int32_t end = waits.group_end(need);
        const Wait wait{{static_cast<std::int32_t>(from.rank), i}, need};
        if (need.rank == start.rank && end >= start.index) {
          std::vector<Wait> circle{wait};
          for (std::size_t s = from.by; s != kStart; s = steps[s].before)
            circle.push_back(steps[s].wait);
          std::reverse(circle.begin(), circle.end());
          return circle;
        }
        if (end <= scanned[static_cast<std::size_t>(need.rank)]) continue;
        queue.push_back({static_cast<std::size_t>(need.rank), end, steps.size()});
        steps.push_back({wait, from.by});
      }
    }
    scanned[from.rank] = std::max(scanned[from.rank], from.last);
  }
  return {};
}

/// Where a circle of fewer than `below` waits begins that comes back to `rank`; below when there is
/// none. What k waits lead to only grows with the start, so every level reads a rank's needs once.
struct Found {
  Position start;
  std::size_t length;
};
Found shorter_through(const Waits& waits, std::size_t rank, std::size_t below, std::int64_t& left) {
  struct Level {
    std::vector<std::int32_t> reached, scanned;
    std::vector<std::size_t> grown;
  };
  std::vector<std::int32_t> nothing(waits.ranks());
  for (std::size_t r = 0; r < nothing.size(); ++r) nothing[r] = waits.first(r) - 1;
  std::vector<Level> levels(below, {nothing, nothing, {}});
  Found found{{}, below};
  for (std::int32_t i = waits.first(rank); i <= waits.last(rank) && left > 0; ++i) {
    const Position here{static_cast<std::int32_t>(rank), i};
    if (waits.group_end(here) != i) continue;
    levels[0].reached[rank] = i;
    levels[0].grown = {rank};
    for (std::size_t k = 0; k + 1 < found.length; ++k) {
      Level& level = levels[k];
      for (const std::size_t r : level.grown) {
        for (std::int32_t p = level.scanned[r] + 1; p <= level.reached[r]; ++p) {
          for (const Position& need : waits.needs(r, p)) {
            --left;
            const auto to = static_cast<std::size_t>(need.rank);
            const std::int32_t end = waits.group_end(need);
            if (end <= levels[k + 1].reached[to]) continue;
            levels[k + 1].reached[to] = end;
            levels[k + 1].grown.push_back(to);
          }
        }
        level.scanned[r] = std::max(level.scanned[r], level.reached[r]);
      }
      level.grown.clear();
      if (levels[k + 1].reached[rank] >= i) found = {here, k + 1};
    }
  }
  return found;
}

/// From a stuck rank to the rank of what its head waits for, until one comes again: a start through
/// which there is a circle, where no rank can go on.
Position head_in_circle(const Waits& waits) {
  std::size_t rank = 0;
  while (waits.first(rank) > waits.last(rank)) ++rank;
  std::vector<bool> seen(waits.ranks(), false);
  const auto head = [&](std::size_t r) {
    return Position{static_cast<std::int32_t>(r),
                    waits.group_end({static_cast<std::int32_t>(r), waits.first(r)})};
  };
  while (!seen[rank]) {
    seen[rank] = true;
    const Position group = head(rank);
    for (std::int32_t i = waits.first(rank); i <= group.index; ++i) {
      if (waits.needs(rank, i).empty()) continue;
      rank = static_cast<std::size_t>(waits.needs(rank, i).front().rank);
      break;
    }
  }
  return head(rank);
}

}  // namespace

std::vector<Wait> shortest_circle(const Program& program, const ActionIndex& index,
                                  std::span<const std::size_t> next) {
  const Waits waits(program, index, next);
  std::vector<Wait> best = circle_through(waits, head_in_circle(waits));
  std::int64_t left = 100'000'000;
  // The shortest circle visits a rank once: what a second visit waits for, the later one does too.
  std::size_t length = best.empty() ? waits.ranks() + 1 : best.size();
  for (std::size_t rank = 0; rank < waits.ranks() && length > 1; ++rank) {
    const Found found = shorter_through(waits, rank, length, left);
    if (found.length == length) continue;
    length = found.length;
    best = circle_through(waits, found.start);
  }
  return best;
}

std::string circle_text(const Program& program, const ActionIndex& index,
                        std::span<const Wait> circle) {
  const auto action_at = [&](Position at) -> const Action& {
    return program.order[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.index)];
  };
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < circle.size() && i < kShown; ++i) {
    const Position behind = circle[(i + 1) % circle.size()].action;
    text += (text.empty() ? "" : "; ") + index.describe(action_at(circle[i].action)) +
            " waits for " + index.describe(action_at(circle[i].need));
    if (behind.index < circle[i].need.index)
      text += ", behind " + to_text(action_at(behind), program);
  }
  if (circle.size() > kShown)
    text += "; and " + std::to_string(circle.size() - kShown) + " more waits close the circle";
  return text;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

/// A message of one action to another rank.
struct Send {
  std::size_t boundary;
  Action receiver;
};

/// Blocking sends into buffers of `slots` messages: whether all ranks come to their end.
class BlockingRun {
  static constexpr auto kNone = static_cast<std::size_t>(-1);

 public:
  BlockingRun(const Program& program, int slots, const ProgramPlaces* places = nullptr)
      : program_(program),
        index_(program, places),
        slots_(slots),
        next_(program.order.size(), 0),
        outbox_(program.order.size()),
        sends_(index_.keys()),
        done_(index_.keys(), false),
        arrived_(index_.keys(), false),
        boundary_(index_.keys(), kNone) {
    for (const auto& order : program.order) {
      for (const Action& action : order) add_message(action);
    }
  }

  bool run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t rank = 0; rank < next_.size(); ++rank) {
        while (step(rank)) progress = true;
      }
    }
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (stuck(rank)) return false;
    }
    return true;
  }

  /// After run() was false: what a rank that has not come to its end waits for.
  struct Block {
    std::size_t on;  ///< the rank that would have to go on
    std::string where, text;
  };
  std::vector<Block> blocks(std::size_t rank) const {
    std::vector<Block> result;
    for (const Send& send : outbox_[rank]) {
      result.push_back({rank_of(send.receiver), index_.where(send.receiver),
                        "rank " + std::to_string(rank) + " cannot hand over the input of " +
                            index_.describe(send.receiver) + ", the buffer of rank " +
                            std::to_string(rank_of(send.receiver)) + " is full"});
    }
    const std::vector<Action>& order = program_.order[rank];
    if (!result.empty() || next_[rank] == order.size()) return result;
    std::size_t i = next_[rank];
    do {
      add_waits(rank, order[i], result);
    } while (order[i++].fused && i < order.size());
    return result;
  }
  bool stuck(std::size_t rank) const {
    return next_[rank] < program_.order[rank].size() || !outbox_[rank].empty();
  }

 private:
  std::size_t rank_of(const Action& action) const {
    return static_cast<std::size_t>(index_.position(action).rank);
  }

  void add_waits(std::size_t rank, const Action& action, std::vector<Block>& result) const {
    const auto add = [&](const Action& need) {
      result.push_back({rank_of(need), index_.where(action),
                        "rank " + std::to_string(rank) + " waits at " + index_.describe(action) +
                            " for " + index_.describe(need)});
    };
    const std::size_t key = index_.key(action);
    if (boundary_[key] != kNone && !arrived_[key]) return add(*index_.source(action));
    index_.for_each_need(action, [&](const Action& need) {
      if (!done_[index_.key(need)]) add(need);
    });
  }

  /// Pass, stage and rank of the receiver: copies of a stage on several ranks have buffers of their
  /// own.
  std::size_t boundary(const Action& receiver) {
    const auto [entry, fresh] = boundaries_.try_emplace(
        {receiver.pass, receiver.stage, index_.position(receiver).rank}, buffered_.size());
    if (fresh) buffered_.push_back(0);
    return entry->second;
  }

  void add_message(const Action& receiver) {
    const std::optional<Action> from = index_.source(receiver);
    if (!from || index_.position(*from).rank == index_.position(receiver).rank) return;
    const std::size_t at = boundary(receiver);
    boundary_[index_.key(receiver)] = at;
    sends_[index_.key(*from)].push_back({at, receiver});
  }

  bool can_start(const Action& action) const {
    const std::size_t key = index_.key(action);
    if (boundary_[key] != kNone && !arrived_[key]) return false;
    bool all = true;
    index_.for_each_need(action, [&](const Action& need) { all = all && done_[index_.key(need)]; });
    return all;
  }

  /// Hands over one message or runs one group; false when the rank has to wait.
  bool step(std::size_t rank) {
    std::vector<Send>& outbox = outbox_[rank];
    for (std::size_t i = 0; i < outbox.size(); ++i) {
      if (buffered_[outbox[i].boundary] >= slots_) continue;
      ++buffered_[outbox[i].boundary];
      arrived_[index_.key(outbox[i].receiver)] = true;
      outbox.erase(outbox.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    const std::vector<Action>& order = program_.order[rank];
    if (!outbox.empty() || next_[rank] == order.size()) return false;
    std::size_t end = next_[rank];
    do {
      if (!can_start(order[end])) return false;
    } while (order[end++].fused && end < order.size());
    for (; next_[rank] < end; ++next_[rank]) {
      const Action& action = order[next_[rank]];
      const std::size_t key = index_.key(action);
      if (boundary_[key] != kNone) --buffered_[boundary_[key]];
      done_[key] = true;
      outbox.insert(outbox.end(), sends_[key].begin(), sends_[key].end());
    }
    return true;
  }

  const Program& program_;
  const ActionIndex index_;
  const int slots_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<Send>> outbox_;  ///< by rank: what it waits to hand over
  std::vector<std::vector<Send>> sends_;   ///< by action
  std::vector<bool> done_, arrived_;
  std::vector<std::size_t> boundary_;  ///< by action: where its input is buffered, or kNone
  std::map<std::tuple<std::uint8_t, std::int16_t, std::int32_t>, std::size_t> boundaries_;
  std::vector<int> buffered_;  ///< by boundary
};

/// The shortest ring of ranks that wait for each other, one block a rank; breadth first from every
/// stuck rank.
std::vector<BlockingRun::Block> shortest_ring(const BlockingRun& run, std::size_t ranks) {
  std::vector<std::vector<BlockingRun::Block>> blocks(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) blocks[rank] = run.blocks(rank);
  struct Step {
    std::size_t rank, block, before;
  };
  std::vector<BlockingRun::Block> best;
  for (std::size_t start = 0; start < ranks; ++start) {
    std::vector<bool> seen(ranks, false);
    std::vector<Step> queue{{start, 0, 0}};
    bool closed = false;
    for (std::size_t q = 0; q < queue.size() && !closed; ++q) {
      const std::vector<BlockingRun::Block>& own = blocks[queue[q].rank];
      for (std::size_t b = 0; b < own.size() && !closed; ++b) {
        closed = own[b].on == start;
        if (!closed && seen[own[b].on]) continue;
        seen[own[b].on] = true;
        queue.push_back({own[b].on, b, q});
      }
    }
    if (!closed) continue;
    std::vector<BlockingRun::Block> ring;
    for (std::size_t q = queue.size() - 1; q != 0; q = queue[q].before)
      ring.push_back(blocks[queue[queue[q].before].rank][queue[q].block]);
    if (best.empty() || ring.size() < best.size()) best.assign(ring.rbegin(), ring.rend());
  }
  return best;
}

}  // namespace

bool runs_with_buffers(const Program& program, int slots) {
  return BlockingRun(program, slots).run();
}

int required_buffers(const Program& program) {
  int low = 1, high = program.microbatches * program.slices;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (runs_with_buffers(program, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void check_buffers(const Program& program, int slots, const ProgramPlaces* places) {
  BlockingRun run(program, slots, places);
  if (run.run()) return;
  const std::vector<BlockingRun::Block> ring = shortest_ring(run, program.order.size());
  PACELINE_CHECK(!ring.empty());  // a rank that is stuck waits for one that is
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < ring.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + ring[i].text;
  if (ring.size() > kShown) text += ", and so on over " + std::to_string(ring.size()) + " ranks";
  throw base::Error(places == nullptr ? "program" : ring.front().where,
                    "with receive buffers of " + std::to_string(slots) +
                        (slots == 1 ? " message" : " messages") +
                        " the ranks wait for each other: " + text,
                    std::to_string(required_buffers(program)) + " is the least that works");
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

/// A message of one action to another rank.
struct Send {
  std::size_t boundary;  ///< pass and stage of the receiver
  std::size_t receiver;  ///< key of the receiving action
};

/// Blocking sends into buffers of `slots` messages: whether all ranks come to their end.
class BlockingRun {
 public:
  BlockingRun(const Program& program, int slots)
      : program_(program),
        index_(program),
        slots_(slots),
        next_(program.order.size(), 0),
        outbox_(program.order.size()),
        sends_(index_.keys()),
        done_(index_.keys(), false),
        arrived_(index_.keys(), false),
        receives_(index_.keys(), false),
        buffered_(program.passes.size() * static_cast<std::size_t>(program.stages), 0) {
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
      if (next_[rank] < program_.order[rank].size() || !outbox_[rank].empty()) return false;
    }
    return true;
  }

 private:
  std::size_t boundary(const Action& receiver) const {
    return receiver.pass * static_cast<std::size_t>(program_.stages) +
           static_cast<std::size_t>(receiver.stage);
  }

  void add_message(const Action& receiver) {
    const std::optional<Action> from = index_.source(receiver);
    if (!from || index_.position(*from).rank == index_.position(receiver).rank) return;
    receives_[index_.key(receiver)] = true;
    sends_[index_.key(*from)].push_back({boundary(receiver), index_.key(receiver)});
  }

  bool can_start(const Action& action) const {
    const std::size_t key = index_.key(action);
    if (receives_[key] && !arrived_[key]) return false;
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
      arrived_[outbox[i].receiver] = true;
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
      if (receives_[key]) --buffered_[boundary(action)];
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
  std::vector<bool> done_, arrived_, receives_;
  std::vector<int> buffered_;  ///< by boundary
};

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

}  // namespace paceline::sim

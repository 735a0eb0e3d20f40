// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "base/error.hpp"
#include "sim/schedules/asynchronous.hpp"
#include "sim/updates.hpp"

namespace paceline::sim {
namespace {

constexpr int kAdmitted = 2;  ///< microbatches of a pipeline in flight
constexpr std::int64_t kForwardTime = 1, kBackwardTime = 2;

/// A pipeline over all ranks: stage s stands on rank first + step * s, around the end.
struct Pipeline {
  int first = 0;
  int step = 1;
  int rank(int stage, int ranks) const { return ((first + step * stage) % ranks + ranks) % ranks; }
};

/// Starting at ranks 0 and p-1; of four the others start in the middle, 0 and p/2 going up the
/// ranks, p/2-1 and p-1 going down.
std::vector<Pipeline> pipelines(int ranks, int directions) {
  if (directions == 2) return {{0, 1}, {ranks - 1, -1}};
  return {{0, 1}, {ranks / 2 - 1, -1}, {ranks / 2, 1}, {ranks - 1, -1}};
}

struct Waiting {
  std::int64_t since = 0;
  bool message = false;  ///< from another rank
  Action action;
};
struct Later {
  bool operator()(const Waiting& a, const Waiting& b) const {
    return std::tie(a.since, a.message, a.action.microbatch, a.action.pass) >
           std::tie(b.since, b.message, b.action.microbatch, b.action.pass);
  }
};

/// Runs all pipelines against each other; a rank takes what has waited longest.
class FirstInFirstOut {
 public:
  FirstInFirstOut(const PipelineShape& shape, const std::vector<Pipeline>& pipelines)
      : ranks_(shape.ranks),
        microbatches_(shape.microbatches),
        pipelines_(pipelines),
        lanes_(static_cast<std::size_t>(shape.ranks)) {
    for (int d = 0; d < directions(); ++d) {
      for (int k = 0; k < kAdmitted; ++k) admit(d + k * directions());
    }
  }

  /// Calls starts(rank, action) and ends(rank, action) in the order of time.
  template <class Starts, class Ends>
  void run(const Starts& starts, const Ends& ends) {
    while (true) {
      for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
        Lane& lane = lanes_[rank];
        if (lane.busy || lane.waiting.empty()) continue;
        lane.action = lane.waiting.top().action;
        lane.waiting.pop();
        lane.busy = true;
        lane.until = now_ + (lane.action.pass == kForward ? kForwardTime : kBackwardTime);
        starts(rank, lane.action);
      }
      std::int64_t next = std::numeric_limits<std::int64_t>::max();
      for (const Lane& lane : lanes_) {
        if (lane.busy) next = std::min(next, lane.until);
      }
      if (next == std::numeric_limits<std::int64_t>::max()) return;
      now_ = next;
      for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
        Lane& lane = lanes_[rank];
        if (!lane.busy || lane.until != now_) continue;
        lane.busy = false;
        ends(rank, lane.action);
        follow(lane.action);
      }
    }
  }

 private:
  struct Lane {
    std::priority_queue<Waiting, std::vector<Waiting>, Later> waiting;
    bool busy = false;
    std::int64_t until = 0;
    Action action;
  };

  int directions() const { return static_cast<int>(pipelines_.size()); }

  void wait(const Action& action, bool message) {
    const Pipeline& pipeline =
        pipelines_[static_cast<std::size_t>(action.microbatch % directions())];
    lanes_[static_cast<std::size_t>(pipeline.rank(action.stage, ranks_))].waiting.push(
        {now_, message, action});
  }

  void admit(int microbatch) {
    if (microbatch < microbatches_) wait(stage_action(kForward, 0, microbatch), false);
  }

  void follow(Action action) {
    const std::int16_t stage = action.stage;
    if (action.pass == kForward && action.stage + 1 < ranks_) {
      ++action.stage;
    } else if (action.pass == kForward) {
      action.pass = kBackward;
    } else if (action.stage > 0) {
      --action.stage;
    } else {
      return admit(action.microbatch + kAdmitted * directions());
    }
    wait(action, action.stage != stage);
  }

  const int ranks_, microbatches_;
  const std::vector<Pipeline>& pipelines_;
  std::vector<Lane> lanes_;
  std::int64_t now_ = 0;
};

/// Microbatches of the copies of a stage, up to one update after another.
class Windows {
 public:
  /// `share`: microbatches of one pipeline in a window. On some ranks two directions share a copy.
  Windows(int ranks, const std::vector<Pipeline>& pipelines, int share)
      : copies_(static_cast<std::size_t>(ranks)), updates_(copies_.size(), 0) {
    for (const Pipeline& pipeline : pipelines) {
      for (int stage = 0; stage < ranks; ++stage)
        copy(static_cast<std::size_t>(stage), static_cast<std::size_t>(pipeline.rank(stage, ranks)))
            .window += static_cast<std::size_t>(share);
    }
  }

  /// The gradients of an action are there; calls update(rank, action) for every copy, with the
  /// microbatch that ends its window, when all copies have theirs.
  template <class F>
  void add(std::size_t rank, const Action& action, const F& update) {
    const auto stage = static_cast<std::size_t>(action.stage);
    copy(stage, rank).done.push_back(action.microbatch);
    const std::size_t next = updates_[stage] + 1;
    for (const Copy& c : copies_[stage]) {
      if (c.done.size() < next * c.window) return;
    }
    updates_[stage] = next;
    for (const Copy& c : copies_[stage]) {
      Action last = action;
      last.microbatch = c.done[next * c.window - 1];
      update(c.rank, last);
    }
  }

 private:
  struct Copy {
    std::size_t rank, window = 0;
    std::vector<std::int32_t> done;  ///< microbatches, in the order of their backwards
  };
  Copy& copy(std::size_t stage, std::size_t rank) {
    for (Copy& c : copies_[stage]) {
      if (c.rank == rank) return c;
    }
    return copies_[stage].emplace_back(Copy{rank, 0, {}});
  }

  std::vector<std::vector<Copy>> copies_;  ///< by stage
  std::vector<std::size_t> updates_;       ///< by stage
};

int directions_of(const PipelineShape& shape) {
  const int asked = shape.options.directions;
  const bool four = shape.ranks >= 4 && shape.ranks % 2 == 0;
  if (asked == 0) return four && shape.ranks >= 8 ? 4 : 2;
  if (asked != 2 && asked != 4) {
    throw base::Error(
        "schedule amdp", std::to_string(asked) + " directions are none of its own",
        asked < 4 ? "2, or 4 on an even number of ranks" : "4 on an even number of ranks, or 2");
  }
  if (asked == 4 && !four) {
    throw base::Error("schedule amdp",
                      "four directions on " + std::to_string(shape.ranks) +
                          " ranks: two of them start in the middle",
                      "take an even number of ranks from 4, or directions 2");
  }
  return asked;
}

}  // namespace

// AMDP (asynchronous multi-directional pipelines; github.com/Vinsmoke86/AMDP): several pipelines
// over the same ranks, microbatch k in pipeline k mod directions. Each admits two microbatches
// before a backward has come back, so at most one update falls between a forward and its gradient
// on any stage. One such pipeline is busy for about 2/p of the time; p/2 of them fill the ranks, so
// the default is four from 8 ranks on.
//
// Orders: ranks take what has waited longest, with backwards twice as long as forwards; of what
// came at the same time first what the rank left itself, then by microbatch. That gives the
// published order tables of p = 4 in two directions; the rule for ties is ours. After every
// `update_every` microbatches of all pipelines a stage is updated, on all ranks that hold it when
// the last of them has its gradients; adding those up belongs to the lowering.
Program amdp(const PipelineShape& shape) {
  check_one_chunk(shape, "amdp");
  const int directions = directions_of(shape);
  const int every = shape.options.update_every > 0
                        ? shape.options.update_every
                        : (shape.ranks + directions - 1) / directions * directions;
  check_multiple(every, directions, "microbatches per update", "schedule amdp", "its directions");
  Program program = two_pass_program(shape);
  const std::uint8_t update = add_update_pass(program);
  const std::vector<Pipeline> all = pipelines(shape.ranks, directions);
  Windows windows(shape.ranks, all, every / directions);
  FirstInFirstOut(shape, all)
      .run([&](std::size_t rank, const Action& action) { program.order[rank].push_back(action); },
           [&](std::size_t rank, Action action) {
             if (action.pass != kBackward) return;
             action.pass = update;
             windows.add(rank, action, [&](std::size_t holder, const Action& done) {
               program.order[holder].push_back(done);
             });
           });
  return program;
}

}  // namespace paceline::sim

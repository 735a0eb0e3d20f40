// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/greedy.hpp"

#include <algorithm>
#include <queue>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

class ListScheduler {
 public:
  ListScheduler(Program& program, const GreedyRules& rules)
      : program_(program),
        rules_(rules),
        stages_(static_cast<std::size_t>(program.stages)),
        microbatches_(static_cast<std::size_t>(program.microbatches)),
        ranks_(program.order.size()) {
    const std::vector<bool> stores = storing_passes(program);
    storing_ =
        static_cast<std::size_t>(std::find(stores.begin(), stores.end(), true) - stores.begin());
    readers_.resize(program.passes.size());
    frees_.assign(program.passes.size(), false);
    for (std::size_t pass = 0; pass < program.passes.size(); ++pass) {
      for (const Read& read : program.passes[pass].reads) readers_[read.pass].push_back(pass);
      for (const std::uint8_t freed : program.passes[pass].frees) {
        if (freed == storing_) frees_[pass] = true;
      }
      for (int stage = 0; stage < program.stages; ++stage) {
        seconds_.push_back(rules.seconds(static_cast<int>(pass), stage));
      }
    }
    for (int stage = 0; stage < program.stages; ++stage) {
      for (int m = 0; m < program.microbatches; ++m) rank_of_.push_back(rules.rank(stage, m));
    }
    count_needs();
  }

  double run() {
    double now = 0;
    while (true) {
      for (const std::size_t rank : touched_) start(rank, now);
      touched_.clear();
      if (events_.empty()) break;
      now = events_.top().time;
      const double same = now * (1 + 1e-12);  // equal but for rounding
      while (!events_.empty() && events_.top().time <= same) {
        const Event event = events_.top();
        events_.pop();
        if (event.arrives) {
          release(event.action);
        } else {
          finish(event.action, now);
        }
      }
    }
    return now;
  }

 private:
  struct Event {
    double time;
    std::uint64_t number;
    Action action;
    bool arrives;  ///< its input does; otherwise it ends
    bool operator<(const Event& other) const {
      return time > other.time || (time == other.time && number > other.number);
    }
  };
  struct Ready {
    std::int64_t priority;
    std::size_t key;
    Action action;
    bool operator<(const Ready& other) const {
      return priority > other.priority || (priority == other.priority && key > other.key);
    }
  };
  struct Rank {
    bool busy = false;
    int held = 0;
    std::priority_queue<Ready> entering, ready;  ///< entering: needs room first
  };

  std::size_t cell(const Action& a) const {
    return static_cast<std::size_t>(a.stage) * microbatches_ +
           static_cast<std::size_t>(a.microbatch);
  }
  std::size_t key(const Action& a) const { return a.pass * stages_ * microbatches_ + cell(a); }
  int rank_of(const Action& a) const { return rank_of_[cell(a)]; }

  /// The stage of the microbatch after (step 1) or before (step -1) along a direction; -1: none.
  int neighbour(const Action& action, Direction direction, int step) const {
    if (direction == Direction::None) return -1;
    if (direction == Direction::Up) step = -step;
    for (int s = action.stage + step; s >= 0 && s < program_.stages; s += step) {
      if (rank_of(stage_action(0, s, action.microbatch)) >= 0) return s;
    }
    return -1;
  }

  void count_needs() {
    needs_.resize(program_.passes.size() * stages_ * microbatches_);
    for (std::size_t pass = 0; pass < program_.passes.size(); ++pass) {
      const Pass& p = program_.passes[pass];
      for (int stage = 0; stage < program_.stages; ++stage) {
        for (int m = 0; m < program_.microbatches; ++m) {
          const Action action = stage_action(static_cast<std::uint8_t>(pass), stage, m);
          if (rank_of(action) < 0) continue;
          std::size_t needs = p.reads.size();
          if (neighbour(action, p.direction, -1) >= 0) ++needs;
          if (pass == storing_ && rules_.window > 0 && m >= rules_.window) ++needs;
          needs_[key(action)] = static_cast<std::uint8_t>(needs + 1);
          release(action);
        }
      }
    }
  }

  /// One thing less to wait for.
  void release(const Action& action) {
    if (--needs_[key(action)] > 0) return;
    const auto index = static_cast<std::size_t>(rank_of(action));
    Rank& rank = ranks_[index];
    const bool enters = rules_.room > 0 && action.pass == storing_ && enters_rank(action);
    (enters ? rank.entering : rank.ready).push({priority_of(action), key(action), action});
    touched_.push_back(index);
  }

  std::int64_t priority_of(const Action& action) {
    if (rules_.priority) return rules_.priority(action);
    return enters_rank(action) ? ++arrivals_ : 0;
  }

  /// Whether its input comes from elsewhere.
  bool enters_rank(const Action& action) const {
    const int from = neighbour(action, program_.passes[action.pass].direction, -1);
    return from < 0 || rank_of(stage_action(0, from, action.microbatch)) != rank_of(action);
  }

  void start(std::size_t index, double now) {
    Rank& rank = ranks_[index];
    if (rank.busy) return;
    const bool room = !rank.entering.empty() && rank.held < rules_.room;
    if (!room && rank.ready.empty()) return;
    const bool enter = room && (rank.ready.empty() || rank.ready.top() < rank.entering.top());
    auto& queue = enter ? rank.entering : rank.ready;
    const Action action = queue.top().action;
    queue.pop();
    rank.busy = true;
    if (enter) ++rank.held;
    program_.order[index].push_back(action);
    const double seconds = seconds_[action.pass * stages_ + static_cast<std::size_t>(action.stage)];
    events_.push({now + seconds, ++number_, action, false});
  }

  void finish(const Action& action, double now) {
    const auto index = static_cast<std::size_t>(rank_of(action));
    ranks_[index].busy = false;
    touched_.push_back(index);
    for (const std::size_t pass : readers_[action.pass]) {
      Action reader = action;
      reader.pass = static_cast<std::uint8_t>(pass);
      release(reader);
    }
    const int next = neighbour(action, program_.passes[action.pass].direction, 1);
    if (next >= 0) {
      const Action receiver = stage_action(action.pass, next, action.microbatch);
      if (rules_.hop > 0 && rank_of(receiver) != rank_of(action)) {
        events_.push({now + rules_.hop, ++number_, receiver, true});
      } else {
        release(receiver);
      }
    }
    if (frees_[action.pass]) free_input(action);
  }

  void free_input(Action action) {
    action.pass = static_cast<std::uint8_t>(storing_);
    if (rules_.room > 0 && enters_rank(action)) {
      --ranks_[static_cast<std::size_t>(rank_of(action))].held;
    }
    action.microbatch += rules_.window;
    if (rules_.window > 0 && action.microbatch < program_.microbatches) release(action);
  }

  Program& program_;
  const GreedyRules& rules_;
  const std::size_t stages_, microbatches_;
  std::size_t storing_ = 0;                        ///< the pass that stores its input
  std::vector<std::vector<std::size_t>> readers_;  ///< by pass
  std::vector<bool> frees_;                        ///< by pass: what the storing one stored
  std::vector<double> seconds_;                    ///< by pass, stage
  std::vector<int> rank_of_;                       ///< by stage, microbatch
  std::vector<std::uint8_t> needs_;                ///< by action: how many things it waits for
  std::vector<Rank> ranks_;
  std::vector<std::size_t> touched_;  ///< ranks that may have something to start
  std::priority_queue<Event> events_;
  std::uint64_t number_ = 0;
  std::int64_t arrivals_ = 0;
};

}  // namespace

double greedy_order(Program& program, const GreedyRules& rules) {
  for (auto& order : program.order) order.clear();
  return ListScheduler(program, rules).run();
}

}  // namespace paceline::sim

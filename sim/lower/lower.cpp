// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/lower.hpp"

#include <array>
#include <compare>
#include <functional>
#include <queue>
#include <vector>

#include "sim/lower/builder.hpp"

namespace paceline::sim {
namespace {

using models::Plan;
using models::Scenario;

/// Passes of a program by what they do along the stages.
struct PassIndex {
  int forward = -1, backward = -1;
};
PassIndex index_passes(const Program& program) {
  PassIndex index;
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    if (program.passes[i].direction == Direction::Down) index.forward = static_cast<int>(i);
    if (program.passes[i].direction == Direction::Up) index.backward = static_cast<int>(i);
  }
  PACELINE_CHECK(index.forward >= 0 && index.backward >= 0);
  return index;
}

/// Walks the program and emits tasks in an order in which every dependency comes first: each lane
/// goes on until its next action waits for something not emitted yet.
class Emitter {
 public:
  Emitter(const Plan& plan, const Program& program, StepBuilder& builder)
      : program_(program),
        builder_(builder),
        passes_(index_passes(program)),
        stages_(static_cast<int>(plan.stages.size())),
        microbatches_(plan.microbatches) {
    const std::size_t cells =
        static_cast<std::size_t>(stages_) * static_cast<std::size_t>(microbatches_);
    for (auto& table : ranks_) table.assign(cells, -1);
    for (std::size_t r = 0; r < program.order.size(); ++r) {
      for (const Action& a : program.order[r])
        ranks_[side(a)][cell(a.stage, a.microbatch)] = static_cast<int>(r);
    }
  }

  /// Replica `k` of the pipeline: its ranks run on lanes lane_of(rank). The order is that of asking
  /// all ranks in turn, round after round; only ranks that can go on are asked.
  template <class LaneOf>
  void emit(const LaneOf& lane_of) {
    const std::size_t ranks = program_.order.size();
    for (auto& table : arrival_) table.assign(ranks_[0].size(), kNoTask);
    for (auto& table : done_) table.assign(static_cast<std::size_t>(stages_), 0);
    awaited_.assign(ranks, nullptr);
    std::vector<std::size_t> next(ranks, 0);
    std::size_t left = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      left += program_.order[r].size();
      turns_.push({0, static_cast<int>(r)});
    }
    while (!turns_.empty()) {
      turn_ = turns_.top();
      turns_.pop();
      const auto r = static_cast<std::size_t>(turn_.rank);
      const auto& order = program_.order[r];
      while (next[r] < order.size() && emit_one(order[next[r]], turn_.rank, next[r], lane_of)) {
        ++next[r];
        --left;
      }
    }
    if (left > 0) throw base::Error("schedule", "the program deadlocks: no rank can go on");
  }

 private:
  std::size_t cell(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
  std::size_t side(const Action& a) const { return a.pass == passes_.forward ? 0 : 1; }

  template <class LaneOf>
  bool emit_one(const Action& a, int rank, std::size_t position, const LaneOf& lane_of) {
    const bool forward = a.pass == passes_.forward;
    const int from = forward ? a.stage - 1 : a.stage + 1;
    TaskId input = kNoTask;
    if (from >= 0 && from < stages_) {
      const TaskId& arrival = arrival_[side(a)][cell(from, a.microbatch)];
      if (must_wait(rank, arrival)) return false;
      input = arrival;
    }
    if (!forward && must_wait(rank, arrival_[0][cell(a.stage, a.microbatch)])) return false;
    ActionContext action;
    action.lane = lane_of(rank);
    action.stage = a.stage;
    action.forward = forward;
    action.position = static_cast<std::uint32_t>(position);
    action.input = input;
    int& done = done_[side(a)][static_cast<std::size_t>(a.stage)];
    action.first = done == 0;
    action.last = ++done == microbatches_;
    const int to = forward ? a.stage + 1 : a.stage - 1;
    int peer = -1;
    if (to >= 0 && to < stages_) {
      peer = ranks_[side(a)][cell(to, a.microbatch)];
      action.sends = peer != rank;
    }
    TaskId& arrival = arrival_[side(a)][cell(a.stage, a.microbatch)];
    arrival = builder_.add_action(action);
    wake(peer, arrival);
    if (forward) wake(ranks_[1][cell(a.stage, a.microbatch)], arrival);
    return true;
  }

  bool must_wait(int rank, const TaskId& arrival) {
    if (arrival != kNoTask) return false;
    awaited_[static_cast<std::size_t>(rank)] = &arrival;
    return true;
  }

  /// The rank, where it waits for just that, has its next turn: in this round or, when it comes
  /// before the one at work, in the next.
  void wake(int rank, const TaskId& arrival) {
    if (rank < 0 || awaited_[static_cast<std::size_t>(rank)] != &arrival) return;
    awaited_[static_cast<std::size_t>(rank)] = nullptr;
    turns_.push({rank > turn_.rank ? turn_.round : turn_.round + 1, rank});
  }

  struct Turn {
    std::size_t round = 0;
    int rank = 0;
    auto operator<=>(const Turn&) const = default;
  };

  const Program& program_;
  StepBuilder& builder_;
  PassIndex passes_;
  int stages_, microbatches_;
  std::array<std::vector<int>, 2> ranks_;       ///< rank that runs a pass of (stage, microbatch)
  std::array<std::vector<TaskId>, 2> arrival_;  ///< task after which the result is at the consumer
  std::array<std::vector<int>, 2> done_;        ///< microbatches emitted, by stage
  std::vector<const TaskId*> awaited_;          ///< by rank: the arrival it waits for
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  Turn turn_;  ///< of the rank at work
};

}  // namespace

TaskGraph lower(const Scenario& scenario, const Plan& plan, const Program& program,
                const LowerOptions& options) {
  StepBuilder builder(scenario, plan, options);
  Emitter emitter(plan, program, builder);
  for (int replica = 0; replica < builder.replicas(); ++replica) {
    emitter.emit([&](int rank) { return builder.lane_of(replica, rank); });
  }
  builder.finish_step();
  return builder.take();
}

}  // namespace paceline::sim

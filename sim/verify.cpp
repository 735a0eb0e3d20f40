// SPDX-License-Identifier: Apache-2.0
#include "sim/verify.hpp"

#include <algorithm>
#include <deque>

#include "base/error.hpp"
#include "sim/circle.hpp"

namespace paceline::sim {
namespace {

using Ranks = std::vector<std::vector<Action>>;

/// One past the last action of the fused group that begins at `index`.
std::size_t group_end(const std::vector<Action>& order, std::size_t index, std::size_t rank) {
  while (order[index].fused) {
    if (++index == order.size()) {
      throw base::Error("program", "rank " + std::to_string(rank) +
                                       " ends in a fused action without a companion");
    }
  }
  return index + 1;
}

std::size_t action_count(const Ranks& order) {
  std::size_t count = 0;
  for (const auto& actions : order) count += actions.size();
  return count;
}

/// Runs all ranks against each other, each as far as it gets before the next.
class InOrder {
 public:
  InOrder(const Program& program, const ActionIndex& index)
      : program_(program),
        index_(index),
        next_(program.order.size(), 0),
        next_waiter_(program.order.size(), kNobody),
        waiter_(index.keys(), kNobody) {}

  std::vector<Position> run() {
    std::vector<Position> result;
    const std::size_t total = action_count(program_.order);
    result.reserve(total);
    for (std::size_t rank = 0; rank < program_.order.size(); ++rank) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const std::size_t rank = runnable_.front();
      runnable_.pop_front();
      while (next_[rank] < program_.order[rank].size() && run_group(rank, result)) {
      }
    }
    if (result.size() < total) fail_circle();
    return result;
  }

 private:
  static constexpr std::int32_t kNobody = -1, kDone = -2;

  bool done(const Action& action) const { return waiter_[index_.key(action)] == kDone; }

  /// Something the action needs that has not run; null when there is none.
  std::optional<Action> missing(const Action& action) const {
    std::optional<Action> blocked;
    index_.for_each_need(action, [&](const Action& need) {
      if (!blocked && !done(need)) blocked = need;
    });
    return blocked;
  }

  bool run_group(std::size_t rank, std::vector<Position>& result) {
    const std::vector<Action>& order = program_.order[rank];
    const std::size_t end = group_end(order, next_[rank], rank);
    for (std::size_t i = next_[rank]; i < end; ++i) {
      const std::optional<Action> need = missing(order[i]);
      if (!need) continue;
      std::int32_t& waiter = waiter_[index_.key(*need)];
      next_waiter_[rank] = waiter;
      waiter = static_cast<std::int32_t>(rank);
      return false;
    }
    for (; next_[rank] < end; ++next_[rank]) {
      std::int32_t& waiter = waiter_[index_.key(order[next_[rank]])];
      for (std::int32_t r = waiter; r >= 0; r = next_waiter_[static_cast<std::size_t>(r)]) {
        runnable_.push_back(static_cast<std::size_t>(r));
      }
      waiter = kDone;
      result.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(next_[rank])});
    }
    return true;
  }

  [[noreturn]] void fail_circle() const {
    const std::vector<Wait> circle = shortest_circle(program_, index_, next_);
    const auto rank = static_cast<std::size_t>(circle.front().action.rank);
    const Action& first =
        program_.order[rank][static_cast<std::size_t>(circle.front().action.index)];
    throw base::Error(index_.where(first),
                      circle.size() == 1
                          ? "rank " + std::to_string(rank) + " waits for itself for ever"
                          : "ranks wait for each other for ever",
                      circle_text(program_, index_, circle));
  }

  const Program& program_;
  const ActionIndex& index_;
  std::vector<std::size_t> next_;  ///< by rank: position to run
  std::vector<std::int32_t>
      next_waiter_;                   ///< by rank: the next rank that waits for the same action
  std::vector<std::int32_t> waiter_;  ///< by action: first rank that waits, or kDone
  std::deque<std::size_t> runnable_;
};

std::optional<std::uint8_t> pass_named(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    if (program.passes[i].name == name) return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

/// Of stages that are no chain: their own number of microbatches, and whether a backward runs.
int microbatches_of(const Program& program, int stage) {
  return program.nodes.empty()
             ? program.microbatches
             : program.microbatches / program.nodes[static_cast<std::size_t>(stage)].span;
}
bool goes_back(const Program& program, int stage) {
  return program.nodes.empty() || program.nodes[static_cast<std::size_t>(stage)].backward;
}

/// What every stage, microbatch and slice must have.
class Completeness {
 public:
  Completeness(const Program& program, const ActionIndex& index)
      : program_(program), index_(index) {
    const bool has_forward = pass_named(program, "F").has_value();
    for (std::size_t i = 0; i < program.passes.size(); ++i) {
      const Pass& pass = program.passes[i];
      const auto id = static_cast<std::uint8_t>(i);
      if (has_forward && pass.name == "BW") {
        both_ = id;
      } else if (has_forward && pass.name == "B") {
        input_ = id;
      } else if (has_forward && pass.name == "W") {
        weight_ = id;
      } else if (!pass.sparse) {
        everywhere_.push_back(id);
      }
    }
  }

  void check(Action cell) const {
    if (program_.skips && !visited(cell)) return;
    if (cell.microbatch >= microbatches_of(program_, cell.stage)) return;
    for (const std::uint8_t pass : everywhere_) {
      const Pass& p = program_.passes[pass];
      if (cell.stage < p.first_stage || (p.last_stage >= 0 && cell.stage > p.last_stage)) continue;
      if (!has(cell, pass)) fail(cell, "has no " + p.name);
    }
    if (!both_ && !input_ && !weight_) return;
    if (!goes_back(program_, cell.stage)) return;
    const bool both = has(cell, both_), input = has(cell, input_), weight = has(cell, weight_);
    if (both && (input || weight)) fail(cell, "has BW and a separate B or W");
    if (!both && !(input && weight)) fail(cell, "has neither BW nor both B and W");
  }

 private:
  bool has(Action cell, std::optional<std::uint8_t> pass) const {
    if (!pass) return false;
    cell.pass = *pass;
    return index_.has(cell);
  }
  bool visited(const Action& cell) const {
    return has(cell, both_) || has(cell, input_) || has(cell, weight_) ||
           std::any_of(everywhere_.begin(), everywhere_.end(),
                       [&](std::uint8_t pass) { return has(cell, pass); });
  }
  /// Where some action of the cell stands, if one does.
  std::string where(Action cell) const {
    for (std::size_t pass = 0; pass < program_.passes.size(); ++pass) {
      cell.pass = static_cast<std::uint8_t>(pass);
      if (index_.has(cell)) return index_.where(cell);
    }
    return index_.where();
  }
  [[noreturn]] void fail(const Action& cell, const std::string& problem) const {
    throw base::Error(where(cell), "stage " + std::to_string(cell.stage) + ", microbatch " +
                                       std::to_string(cell.microbatch) + ", slice " +
                                       std::to_string(cell.slice) + " " + problem);
  }

  const Program& program_;
  const ActionIndex& index_;
  std::vector<std::uint8_t> everywhere_;
  std::optional<std::uint8_t> both_, input_, weight_;
};

}  // namespace

std::vector<bool> storing_passes(const Program& program) {
  std::vector<bool> stores(program.passes.size(), false);
  for (const Pass& pass : program.passes) {
    for (const std::uint8_t freed : pass.frees) {
      const Pass& p = program.passes.at(freed);
      stores[freed] = stores[freed] || p.direction == Direction::Down ||
                      (p.direction == Direction::None && p.sparse);
    }
  }
  return stores;
}

std::vector<Position> execution_order(const Program& program, const ActionIndex& index) {
  return InOrder(program, index).run();
}

std::vector<Position> execution_order(const Program& program) {
  return execution_order(program, ActionIndex(program));
}

std::vector<int> peak_in_flight(const Program& program) {
  return peak_in_flight(program, ActionIndex(program));
}

std::vector<int> peak_in_flight(const Program& program, const ActionIndex& index) {
  const std::vector<bool> stores = storing_passes(program);
  std::vector<int> held(program.order.size(), 0), peak = held;
  std::vector<bool> stored(index.keys(), false), moved = stored;
  for (const Position at : execution_order(program, index)) {
    const auto rank = static_cast<std::size_t>(at.rank);
    const Action& action = program.order[rank][static_cast<std::size_t>(at.index)];
    if (stores[action.pass] && goes_back(program, action.stage)) {
      stored[index.key(action)] = true;
      peak[rank] = std::max(peak[rank], ++held[rank]);
    }
    for (const std::uint8_t pass : program.passes[action.pass].frees) {
      if (!stores[pass]) continue;
      Action freed = action;
      freed.pass = pass;
      // Sparse: there may be nothing to free, or an offload has freed it before.
      const bool sparse = program.passes[action.pass].sparse;
      if (moved[index.key(freed)] || (program.passes[pass].sparse && !index.has(freed))) continue;
      moved[index.key(freed)] = sparse;
      if (!stored[index.key(freed)]) {
        throw base::Error(index.where(action), index.describe(action) + " frees " +
                                                   to_text(freed, program) +
                                                   ", which is not stored then");
      }
      stored[index.key(freed)] = false;
      --held[static_cast<std::size_t>(index.position(freed).rank)];
    }
  }
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    if (held[rank] != 0) {
      throw base::Error(index.where(), "rank " + std::to_string(rank) + " ends with " +
                                           std::to_string(held[rank]) + " inputs stored");
    }
  }
  return peak;
}

void verify(const Program& program, const ProgramPlaces* places) {
  const ActionIndex index(program, places);
  const Completeness completeness(program, index);
  for (int stage = 0; stage < program.stages; ++stage) {
    for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
      for (int slice = 0; slice < program.slices; ++slice) {
        Action cell;
        cell.stage = static_cast<std::int16_t>(stage);
        cell.microbatch = microbatch;
        cell.slice = static_cast<std::int16_t>(slice);
        completeness.check(cell);
      }
    }
  }
  peak_in_flight(program, index);  // order and storage
}

std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<TaskId> last(graph.lanes.size() * kStreams, kNoTask),
      previous(graph.tasks.size(), kNoTask);
  // By start, not by order of addition: `ready` dispatch may have changed the order.
  std::vector<TaskId> by_start(graph.tasks.size());
  for (TaskId t = 0; t < by_start.size(); ++t) by_start[t] = t;
  std::stable_sort(by_start.begin(), by_start.end(), [&](TaskId a, TaskId b) {
    return std::pair(timeline.start[a], timeline.finish[a]) <
           std::pair(timeline.start[b], timeline.finish[b]);
  });
  for (const TaskId t : by_start) {
    const Task& task = graph.tasks[t];
    if (task.stream == Stream::None) continue;
    TaskId& slot = last[task.lane * std::size_t{kStreams} + static_cast<std::size_t>(task.stream)];
    previous[t] = slot;
    slot = t;
  }
  std::vector<TaskId> path;
  TaskId at = kNoTask;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (at == kNoTask || timeline.finish[t] > timeline.finish[at]) at = t;
  }
  while (at != kNoTask && path.size() < graph.tasks.size()) {
    path.push_back(at);
    TaskId before = kNoTask;
    if (previous[at] != kNoTask && timeline.finish[previous[at]] == timeline.start[at]) {
      before = previous[at];
    }
    for (const TaskId d : graph.dependencies(at)) {
      if (timeline.finish[d] == timeline.start[at]) before = d;
    }
    at = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace paceline::sim

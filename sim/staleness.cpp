// SPDX-License-Identifier: Apache-2.0
#include "sim/staleness.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "sim/updates.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

constexpr std::int32_t kNever = -1;

std::vector<bool> passes_named(const Program& program, std::string_view name) {
  std::vector<bool> is(program.passes.size(), false);
  for (std::size_t i = 0; i < is.size(); ++i) is[i] = program.passes[i].name == name;
  return is;
}

/// Which copy of its weights an action touches: one per rank that runs the stage and updates it, or
/// one for all ranks where some rank runs the stage and leaves the update to others.
class Copies {
 public:
  explicit Copies(const Program& program)
      : ranks_(program.order.size()), pooled_(static_cast<std::size_t>(program.stages), false) {
    const std::vector<bool> update = passes_named(program, "U");
    std::vector<bool> runs, updates;
    for (const auto& order : program.order) {
      runs.assign(pooled_.size(), false);
      updates.assign(pooled_.size(), false);
      for (const Action& action : order) {
        const auto stage = static_cast<std::size_t>(action.stage);
        if (update[action.pass]) updates[stage] = true;
        if (program.passes[action.pass].direction != Direction::None) runs[stage] = true;
      }
      for (std::size_t s = 0; s < pooled_.size(); ++s) {
        if (runs[s] && !updates[s]) pooled_[s] = true;
      }
    }
  }
  std::size_t count() const { return ranks_ * pooled_.size(); }
  std::size_t of(const Action& action, std::int32_t rank) const {
    const auto stage = static_cast<std::size_t>(action.stage);
    return stage * ranks_ + (pooled_[stage] ? 0 : static_cast<std::size_t>(rank));
  }

 private:
  std::size_t ranks_;
  std::vector<bool> pooled_;  ///< by stage
};

/// Of one (stage, microbatch, slice).
struct Versions {
  std::int32_t forward = kNever;   ///< version there when its forward ran
  std::int32_t applied = kNever;   ///< version its gradient is applied to
  std::int32_t backward = kNever;  ///< version there when its first backward ran
  std::int32_t read = kNever;      ///< version its forward read
  bool fill = false;               ///< no backward of its stage had run before its forward
};

/// Replays the Program over the versions of its weights.
class Replay {
 public:
  Replay(const Program& program, std::span<const Position> order)
      : program_(program),
        order_(order),
        update_(passes_named(program, "U")),
        gradient_(gradient_passes(program)),
        copies_(program),
        cells_(static_cast<std::size_t>(program.stages) *
               static_cast<std::size_t>(program.microbatches) *
               static_cast<std::size_t>(program.slices)),
        totals_(copies_.count(), 0),
        started_(copies_.count(), false) {
    result_.delay_by_stage.assign(static_cast<std::size_t>(program.stages), 0);
    result_.mismatch_by_stage = result_.delay_by_stage;
    result_.versions.assign(program.order.size(), 1);
  }

  Staleness run() {
    note_versions();
    settle_reads();
    if (!count_delays(true)) count_delays(false);
    if (program_.weights != Weights::Latest) count_versions();
    return std::move(result_);
  }

 private:
  const Action& action_at(Position at) const {
    return program_.order[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.index)];
  }
  Versions& cell(const Action& a) {
    return cells_[(static_cast<std::size_t>(a.stage) *
                       static_cast<std::size_t>(program_.microbatches) +
                   static_cast<std::size_t>(a.microbatch)) *
                      static_cast<std::size_t>(program_.slices) +
                  static_cast<std::size_t>(a.slice)];
  }
  Direction direction(const Action& a) const { return program_.passes[a.pass].direction; }

  void note_versions() {
    for (const Position at : order_) {
      const Action& action = action_at(at);
      const std::size_t copy = copies_.of(action, at.rank);
      std::int32_t& version = totals_[copy];
      Versions& c = cell(action);
      if (direction(action) == Direction::Down && c.forward == kNever) {
        c.forward = version;
        c.fill = !started_[copy];
      }
      if (direction(action) == Direction::Up) {
        if (c.backward == kNever) c.backward = version;
        started_[copy] = true;
      }
      if (gradient_[action.pass]) c.applied = version;
      if (update_[action.pass]) ++version;
    }
  }

  void settle_reads() {
    const bool delayed = program_.weights == Weights::Delayed;
    for (const Position at : order_) {
      const Action& action = action_at(at);
      if (direction(action) != Direction::Down) continue;
      Versions& c = cell(action);
      c.read = delayed && c.applied != kNever ? std::max(0, c.applied - 1) : c.forward;
      if (c.read <= c.forward) continue;
      throw base::Error("program",
                        to_text(action, program_) + " would read version " +
                            std::to_string(c.read) + " of its weights when there are " +
                            std::to_string(c.forward) + " updates",
                        "weights=delayed needs more microbatches between updates");
    }
  }

  /// Returns whether there was anything to count.
  bool count_delays(bool filled) {
    std::int64_t sum = 0, count = 0;
    for (const Position at : order_) {
      const Action& action = action_at(at);
      if (!gradient_[action.pass]) continue;
      const Versions& c = cell(action);
      if (c.applied >= totals_[copies_.of(action, at.rank)]) continue;  // by no update
      if (filled && (c.fill || c.applied == 0)) continue;
      const auto stage = static_cast<std::size_t>(action.stage);
      const int delay = c.applied - c.read;
      if (result_.histogram.size() <= static_cast<std::size_t>(delay))
        result_.histogram.resize(static_cast<std::size_t>(delay) + 1, 0);
      ++result_.histogram[static_cast<std::size_t>(delay)];
      int& worst = result_.delay_by_stage[stage];
      worst = std::max(worst, delay);
      sum += delay;
      ++count;
      if (program_.weights != Weights::Latest) continue;
      int& mismatch = result_.mismatch_by_stage[stage];
      mismatch = std::max(mismatch, c.backward - c.read);
      result_.mismatch = std::max(result_.mismatch, mismatch);
    }
    if (count == 0) return false;
    result_.max = static_cast<int>(result_.histogram.size()) - 1;
    result_.mean = static_cast<double>(sum) / static_cast<double>(count);
    return true;
  }

  /// From forward to the last backward a microbatch needs the version it read.
  void count_versions() {
    struct Held {
      std::map<std::int32_t, int> users;  ///< by version; the newest counts as one
      std::int32_t newest = 0;
    };
    std::vector<Held> held(copies_.count());
    for (Held& h : held) h.users[0] = 1;
    std::vector<std::int32_t> left(cells_.size(), 0);  // backwards to come
    for (const Position at : order_) {
      const Action& action = action_at(at);
      if (direction(action) == Direction::Up) ++left[index_of(action)];
    }
    for (const Position at : order_) {
      const Action& action = action_at(at);
      Held& h = held[copies_.of(action, at.rank)];
      const std::int32_t read = cell(action).read;
      const auto release = [&](std::int32_t version) {
        const auto user = h.users.find(version);
        if (user != h.users.end() && --user->second == 0) h.users.erase(user);
      };
      if (direction(action) == Direction::Down) ++h.users[read];
      if (direction(action) == Direction::Up && --left[index_of(action)] == 0) release(read);
      if (update_[action.pass]) {
        ++h.users[h.newest + 1];
        release(h.newest++);
      }
      int& most = result_.versions[static_cast<std::size_t>(at.rank)];
      most = std::max(most, static_cast<int>(h.users.size()));
    }
  }
  std::size_t index_of(const Action& action) {
    return static_cast<std::size_t>(&cell(action) - cells_.data());
  }

  const Program& program_;
  const std::span<const Position> order_;
  const std::vector<bool> update_, gradient_;
  const Copies copies_;
  std::vector<Versions> cells_;
  std::vector<std::int32_t> totals_;  ///< by copy: updates
  std::vector<bool> started_;         ///< by copy: a backward has run
  Staleness result_;
};

/// Start of every action, by rank and position.
std::vector<std::vector<double>> action_starts(const Program& program, const TaskGraph& graph,
                                               const Timeline& timeline) {
  std::vector<std::vector<double>> starts(program.order.size());
  for (std::size_t rank = 0; rank < starts.size(); ++rank)
    starts[rank].assign(program.order[rank].size(), 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind == TaskKind::Action) starts.at(task.lane).at(task.origin) = timeline.start[t];
  }
  return starts;
}

}  // namespace

bool has_updates(const Program& program) {
  const std::vector<bool> update = passes_named(program, "U");
  for (const auto& order : program.order) {
    for (const Action& action : order) {
      if (update[action.pass]) return true;
    }
  }
  return false;
}

Staleness staleness(const Program& program, std::span<const Position> order) {
  return Replay(program, order).run();
}

Staleness staleness(const Program& program) { return staleness(program, execution_order(program)); }

BlockDelay block_delay(const Program& program, const TaskGraph& graph, const Timeline& timeline) {
  struct Update {
    double start;
    std::int16_t stage;
    std::int32_t microbatch;
    bool operator<(const Update& o) const {
      return std::tie(start, stage, microbatch) < std::tie(o.start, o.stage, o.microbatch);
    }
  };
  const std::vector<bool> update = passes_named(program, "U");
  const std::vector<bool> gradient = gradient_passes(program);
  const auto starts = action_starts(program, graph, timeline);
  std::vector<Update> updates;
  std::vector<std::vector<double>> read(static_cast<std::size_t>(program.stages));
  for (auto& stage : read) stage.assign(static_cast<std::size_t>(program.microbatches), 0);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    double last_gradient = 0;
    for (std::size_t i = 0; i < program.order[rank].size(); ++i) {
      const Action& a = program.order[rank][i];
      if (gradient[a.pass]) last_gradient = starts[rank][i];
      if (update[a.pass]) updates.push_back({last_gradient, a.stage, a.microbatch});
      if (program.passes[a.pass].direction == Direction::Down)
        read[static_cast<std::size_t>(a.stage)][static_cast<std::size_t>(a.microbatch)] =
            starts[rank][i];
    }
  }
  std::sort(updates.begin(), updates.end());
  BlockDelay result;
  const std::size_t first = updates.size() / 2, last = std::max(first + 1, updates.size() * 3 / 4);
  if (updates.empty()) return result;
  for (std::size_t i = first; i < last; ++i) {
    const Update& u = updates[i];
    const Update seen{
        read[static_cast<std::size_t>(u.stage)][static_cast<std::size_t>(u.microbatch)], u.stage,
        -1};
    const auto before = std::lower_bound(updates.begin(), updates.end(), seen) - updates.begin();
    const std::int64_t delay = static_cast<std::int64_t>(i) - before;
    result.max = std::max(result.max, delay);
    result.mean += static_cast<double>(delay);
  }
  result.mean /= static_cast<double>(last - first);
  return result;
}

}  // namespace paceline::sim

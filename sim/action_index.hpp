// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/program.hpp"
#include "sim/program_places.hpp"

/// Who runs what, and what it needs: the relations between the actions of a Program.
namespace paceline::sim {

/// Where an action stands: order[rank][index].
struct Position {
  std::int32_t rank = -1;
  std::int32_t index = -1;
  bool operator==(const Position&) const = default;
};

/// Positions of all actions by (pass, stage, microbatch, slice). Keeps a reference to the Program
/// and to `places`, where the Program came from a file: messages then name its lines.
class ActionIndex {
 public:
  /// Throws base::Error when an action stands twice, names a pass, stage, microbatch or slice that
  /// does not exist, or when there are too few actions to cover every stage and microbatch.
  explicit ActionIndex(const Program& program, const ProgramPlaces* places = nullptr);

  std::size_t keys() const { return positions_.size(); }
  std::size_t key(const Action& action) const {
    return ((action.pass * stages_ + static_cast<std::size_t>(action.stage)) * microbatches_ +
            static_cast<std::size_t>(action.microbatch)) *
               slices_ +
           static_cast<std::size_t>(action.slice);
  }
  bool has(const Action& action) const { return positions_[key(action)].rank >= 0; }
  Position position(const Action& action) const { return positions_[key(action)]; }

  /// The action of the neighbouring stage whose output this one receives: the same pass, or where
  /// the neighbour lacks it another of the same direction (B may receive from BW). Empty at the
  /// first stage of a direction, for local passes, and when the neighbour has none. Where
  /// microbatches skip stages, the neighbour is the next stage that has one.
  std::optional<Action> source(const Action& action) const;

  /// Calls f(needed action) for everything that must have run before: passes read (First and Last
  /// are those of the stages the pass read runs on), the slice before, then source. Throws
  /// base::Error when one of them stands nowhere.
  template <class F>
  void for_each_need(const Action& action, const F& f) const {
    const Pass& pass = program_->passes[action.pass];
    for (const Read& read : pass.reads) for_each_read(action, read, f);
    if (pass.slices != Direction::None && stands_at_slice(action, pass)) {
      Action before = action;
      before.slice =
          static_cast<std::int16_t>(action.slice + (pass.slices == Direction::Down ? -1 : 1));
      if (!has(before)) fail_missing(action, before);
      f(before);
    }
    if (pass.direction == Direction::None) return;
    if (!program_->nodes.empty()) return for_each_neighbour(action, f);
    const std::optional<Action> from = source(action);
    if (from) {
      f(*from);
    } else if (needs_source(action)) {
      fail_missing(action, neighbour(action));
    }
  }

  /// "2F0 (rank 2, position 0)", or "2F0 (order.txt:5:9)", for messages.
  std::string describe(const Action& action) const;
  /// Where a message about the action begins: "order.txt:5:9", or "program" without a file.
  std::string where(const Action& action) const;
  /// The same without an action: "order.txt".
  std::string where() const { return places_ == nullptr ? "program" : places_->file; }

 private:
  template <class F>
  void for_each_read(const Action& action, const Read& read, const F& f) const {
    Action needed = action;
    needed.pass = read.pass;
    int first = action.stage, last = action.stage;
    if (read.reach != Reach::Same) {
      const Pass& pass = program_->passes[read.pass];
      first = pass.first_stage;
      last = pass.last_stage < 0 ? program_->stages - 1 : pass.last_stage;
      if (read.reach == Reach::First) last = first;
      if (read.reach == Reach::Last) first = last;
    }
    for (int stage = first; stage <= last; ++stage) {
      needed.stage = static_cast<std::int16_t>(stage);
      if (has(needed)) {
        f(needed);
      } else if (!read.where_present && runs_on(read.pass, stage)) {
        fail_missing(action, needed);
      }
    }
  }
  const StageNode& node(int stage) const {
    return program_->nodes[static_cast<std::size_t>(stage)];
  }
  /// The microbatches of `stage` that cover those of the action.
  template <class F>
  void for_each_covering(const Action& action, int stage, const F& f) const {
    const std::int64_t own = node(action.stage).span, other = node(stage).span;
    const std::int64_t first = action.microbatch * own / other;
    const std::int64_t last = ((action.microbatch + 1) * own - 1) / other;
    Action needed = action;
    needed.stage = static_cast<std::int16_t>(stage);
    for (std::int64_t m = first; m <= last; ++m) {
      needed.microbatch = static_cast<std::int32_t>(m);
      const std::optional<Action> there = along(needed, program_->passes[action.pass].direction);
      if (!there) fail_missing(action, needed);
      f(*there);
    }
  }
  /// Of stages that are no chain: what all stages it receives from made of the microbatch.
  template <class F>
  void for_each_neighbour(const Action& action, const F& f) const {
    const bool down = program_->passes[action.pass].direction == Direction::Down;
    const auto stage = static_cast<std::size_t>(action.stage);
    if (down) {
      for (const std::int16_t input : node(action.stage).inputs)
        for_each_covering(action, input, f);
      const std::int32_t ahead = node(action.stage).ahead;
      if (ahead == 0 || action.microbatch < ahead) return;
      Action taken = action;
      taken.microbatch -= ahead;
      for (const std::int16_t to : outputs_[stage]) for_each_covering(taken, to, f);
    } else {
      for (const std::int16_t to : outputs_[stage]) for_each_covering(action, to, f);
    }
  }
  /// The pass of the cell, or another of the same direction.
  std::optional<Action> along(const Action& cell, Direction direction) const;
  bool runs_on(std::uint8_t pass, int stage) const {
    const Pass& p = program_->passes[pass];
    return !program_->skips && stage >= p.first_stage &&
           (p.last_stage < 0 || stage <= p.last_stage);
  }
  /// Not the first slice along the pass's slices.
  bool stands_at_slice(const Action& action, const Pass& pass) const {
    return pass.slices == Direction::Down ? action.slice > 0 : action.slice + 1 < program_->slices;
  }
  /// Not at the first stage of its direction.
  bool needs_source(const Action& action) const;
  Action neighbour(const Action& action) const;
  Action stored(const Action& action) const;  ///< as it stands in the order
  std::string place(Position at) const;
  [[noreturn]] void fail_missing(const Action& action, const Action& needed) const;
  void check_range(const Action& action, std::size_t rank, std::size_t index) const;

  const Program* program_;
  const ProgramPlaces* places_;
  std::size_t stages_, microbatches_, slices_;
  std::vector<Position> positions_;
  std::vector<std::vector<std::int16_t>> outputs_;  ///< by stage, where they are no chain
};

}  // namespace paceline::sim

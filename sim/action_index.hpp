// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/program.hpp"

/// Who runs what, and what it needs: the relations between the actions of a Program.
namespace paceline::sim {

/// Where an action stands: order[rank][index].
struct Position {
  std::int32_t rank = -1;
  std::int32_t index = -1;
  bool operator==(const Position&) const = default;
};

/// Positions of all actions by (pass, stage, microbatch, slice). Keeps a reference to the Program.
class ActionIndex {
 public:
  /// Throws base::Error when an action stands twice, names a pass, stage, microbatch or slice that
  /// does not exist, or when there are too few actions to cover every stage and microbatch.
  explicit ActionIndex(const Program& program);

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
  /// first stage of a direction, for local passes, and when the neighbour has none.
  std::optional<Action> source(const Action& action) const;

  /// Calls f(needed action) for everything that must have run before: passes read, then source.
  /// Throws base::Error when one of them stands nowhere.
  template <class F>
  void for_each_need(const Action& action, const F& f) const {
    for (const std::uint8_t pass : program_->passes[action.pass].reads) {
      Action needed = action;
      needed.pass = pass;
      if (!has(needed)) fail_missing(action, needed);
      f(needed);
    }
    if (!has_source(action)) return;
    const std::optional<Action> from = source(action);
    if (!from) fail_missing(action, neighbour(action));
    f(*from);
  }

  /// "2F0 (rank 2, position 0)", for messages.
  std::string describe(const Action& action) const;

 private:
  bool has_source(const Action& action) const;  ///< not at the first stage of its direction
  Action neighbour(const Action& action) const;
  [[noreturn]] void fail_missing(const Action& action, const Action& needed) const;
  void check_range(const Action& action, std::size_t rank, std::size_t index) const;

  const Program* program_;
  std::size_t stages_, microbatches_, slices_;
  std::vector<Position> positions_;
};

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/action_index.hpp"

#include "base/error.hpp"

namespace paceline::sim {

ActionIndex::ActionIndex(const Program& program, const ProgramPlaces* places)
    : program_(&program),
      places_(places),
      stages_(static_cast<std::size_t>(program.stages)),
      microbatches_(static_cast<std::size_t>(program.microbatches)),
      slices_(static_cast<std::size_t>(program.slices)) {
  if (program.stages < 1 || program.microbatches < 1 || program.slices < 1) {
    throw base::Error(where(), "stages, microbatches and slices must be at least 1");
  }
  std::size_t actions = 0;
  for (const auto& order : program.order) actions += order.size();
  // Also bounds the memory of the table by the size of the Program.
  const bool graph = !program.nodes.empty();
  PACELINE_CHECK(!graph || program.nodes.size() == stages_);
  outputs_.resize(graph ? stages_ : 0);
  for (std::size_t stage = 0; stage < outputs_.size(); ++stage)
    for (const std::int16_t input : program.nodes[stage].inputs)
      outputs_.at(static_cast<std::size_t>(input)).push_back(static_cast<std::int16_t>(stage));
  const std::size_t covered = program.skips || graph ? 1 : stages_;
  if (microbatches_ > actions / covered / slices_) {
    throw base::Error(where(), std::to_string(actions) + " actions cannot cover " +
                                   std::to_string(program.stages) + " stages, " +
                                   std::to_string(program.microbatches) + " microbatches and " +
                                   std::to_string(program.slices) + " slices");
  }
  positions_.resize(program.passes.size() * stages_ * microbatches_ * slices_);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    for (std::size_t i = 0; i < program.order[rank].size(); ++i) {
      const Action& action = program.order[rank][i];
      check_range(action, rank, i);
      const Position here{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)};
      Position& position = positions_[key(action)];
      if (position.rank >= 0) {
        throw base::Error(places_ == nullptr ? where() : place(here),
                          describe(action) + " stands again at " + place(here));
      }
      position = here;
    }
  }
}

void ActionIndex::check_range(const Action& action, std::size_t rank, std::size_t index) const {
  const auto inside = [](int value, std::size_t size) {
    return value >= 0 && static_cast<std::size_t>(value) < size;
  };
  if (action.pass < program_->passes.size() && inside(action.stage, stages_) &&
      inside(action.microbatch, microbatches_) && inside(action.slice, slices_)) {
    return;
  }
  throw base::Error("program",
                    "the action at " +
                        place({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(index)}) +
                        " lies outside the program's passes, stages, microbatches or slices");
}

bool ActionIndex::needs_source(const Action& action) const {
  const Pass& pass = program_->passes[action.pass];
  if (program_->skips) return false;
  if (pass.direction == Direction::Down) return action.stage > pass.first_stage;
  const int last = pass.last_stage >= 0 ? pass.last_stage : program_->stages - 1;
  return action.stage < last;
}

Action ActionIndex::neighbour(const Action& action) const {
  Action from = action;
  const bool down = program_->passes[action.pass].direction == Direction::Down;
  from.stage = static_cast<std::int16_t>(action.stage + (down ? -1 : 1));
  return from;
}

std::optional<Action> ActionIndex::source(const Action& action) const {
  const Direction direction = program_->passes[action.pass].direction;
  if (direction == Direction::None) return std::nullopt;
  const int step = direction == Direction::Down ? -1 : 1;
  for (int stage = action.stage + step; stage >= 0 && stage < program_->stages; stage += step) {
    Action from = action;
    from.stage = static_cast<std::int16_t>(stage);
    if (const std::optional<Action> there = along(from, direction)) return there;
    if (!program_->skips) break;
  }
  return std::nullopt;
}

std::optional<Action> ActionIndex::along(const Action& cell, Direction direction) const {
  if (has(cell)) return stored(cell);
  Action other = cell;
  for (std::size_t pass = 0; pass < program_->passes.size(); ++pass) {
    other.pass = static_cast<std::uint8_t>(pass);
    if (program_->passes[pass].direction == direction && has(other)) return stored(other);
  }
  return std::nullopt;
}

Action ActionIndex::stored(const Action& action) const {
  const Position at = position(action);
  return program_->order[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.index)];
}

std::string ActionIndex::describe(const Action& action) const {
  const Position at = position(action);
  const std::string text = to_text(action, *program_);
  return at.rank < 0 ? text : text + " (" + place(at) + ")";
}

std::string ActionIndex::place(Position at) const {
  if (places_ != nullptr) {
    const ProgramPlaces::Place& p =
        places_->order.at(static_cast<std::size_t>(at.rank)).at(static_cast<std::size_t>(at.index));
    return places_->file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
  }
  return "rank " + std::to_string(at.rank) + ", position " + std::to_string(at.index);
}

std::string ActionIndex::where(const Action& action) const {
  const Position at = position(action);
  return places_ == nullptr || at.rank < 0 ? where() : place(at);
}

void ActionIndex::fail_missing(const Action& action, const Action& needed) const {
  throw base::Error(where(action), describe(action) + " needs " + to_text(needed, *program_) +
                                       ", which stands nowhere");
}

}  // namespace paceline::sim

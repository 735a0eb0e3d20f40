// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/error.hpp"
#include "kernels/train/rank_plan.hpp"
#include "sim/action_index.hpp"

namespace paceline::kernels::train {
namespace {

using sim::Action;

/// Runs a Program without times: a rank goes on while what it receives has been sent, and waits at
/// an update of one end of the pipeline for the same update of the other end.
class Rehearsal {
 public:
  explicit Rehearsal(const sim::Program& program)
      : program_(program),
        index_(program),
        next_(program.order.size(), 0),
        done_(index_.keys(), false) {}

  bool ends() {
    for (bool moved = true; moved;) {
      moved = meet();
      for (std::size_t rank = 0; rank < next_.size(); ++rank)
        while (advance(rank)) moved = true;
    }
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] < program_.order[rank].size()) return false;
    return true;
  }

 private:
  const Action* head(std::size_t rank) const {
    const auto& order = program_.order[rank];
    return next_[rank] < order.size() ? &order[next_[rank]] : nullptr;
  }
  bool is_update(const Action& action, int stage) const {
    return action.stage == stage && program_.passes[action.pass].name == "U";
  }
  bool meets(const Action& action) const {
    return is_update(action, 0) || is_update(action, program_.stages - 1);
  }
  bool advance(std::size_t rank) {
    const Action* action = head(rank);
    if (action == nullptr || meets(*action)) return false;
    const std::optional<Action> source = index_.source(*action);
    if (source && !done_[index_.key(*source)]) return false;
    done_[index_.key(*action)] = true;
    ++next_[rank];
    return true;
  }
  /// Both ends stand before an update: they do it together.
  bool meet() {
    std::optional<std::size_t> first, last;
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      const Action* action = head(rank);
      if (action != nullptr && is_update(*action, 0)) first = rank;
      if (action != nullptr && is_update(*action, program_.stages - 1)) last = rank;
    }
    if (!first || !last || *first == *last) return false;
    ++next_[*first];
    ++next_[*last];
    return true;
  }

  const sim::Program& program_;
  const sim::ActionIndex index_;
  std::vector<std::size_t> next_;  ///< by rank
  std::vector<bool> done_;
};

}  // namespace

void check_tied_updates(const sim::Program& program, const std::string& where) {
  if (program.stages == 1 || Rehearsal(program).ends()) return;
  throw base::Error(where,
                    "the ends of the pipeline hold one matrix and would wait for each other's "
                    "updates for ever",
                    "model.tied: false");
}

}  // namespace paceline::kernels::train

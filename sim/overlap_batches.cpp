// SPDX-License-Identifier: Apache-2.0
#include "sim/overlap_batches.hpp"

#include <algorithm>
#include <optional>

namespace paceline::sim {
namespace {

struct Halves {
  std::vector<Action> forwards, backwards;
  std::size_t lead = 0;  ///< forwards before the first backward
};

/// Nothing where the order has other passes, or fused ones already.
std::optional<Halves> halves_of(const Program& program, const std::vector<Action>& order) {
  Halves halves;
  for (const Action& action : order) {
    const std::string& pass = program.passes[action.pass].name;
    if (action.fused || (pass != "F" && pass != "BW")) return std::nullopt;
    if (pass == "F") {
      halves.forwards.push_back(action);
    } else {
      if (halves.backwards.empty()) halves.lead = halves.forwards.size();
      halves.backwards.push_back(action);
    }
  }
  if (halves.forwards.size() != halves.backwards.size()) return std::nullopt;
  return halves;
}

std::vector<Action> paired(const Halves& halves, std::size_t lead) {
  std::vector<Action> order(halves.forwards.begin(),
                            halves.forwards.begin() + static_cast<std::ptrdiff_t>(lead));
  for (std::size_t i = 0; i < halves.backwards.size(); ++i) {
    if (lead + i < halves.forwards.size()) {
      order.push_back(halves.forwards[lead + i]);
      order.back().fused = true;
    }
    order.push_back(halves.backwards[i]);
  }
  return order;
}

}  // namespace

bool overlap_batches(Program& program) {
  std::vector<Halves> ranks;
  for (const std::vector<Action>& order : program.order) {
    std::optional<Halves> halves = halves_of(program, order);
    if (!halves) return false;
    ranks.push_back(std::move(*halves));
  }
  const bool chunked = program.stages > static_cast<int>(program.order.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::size_t all = ranks[r].forwards.size(), lead = ranks[r].lead;
    if (all == 0) continue;
    const std::size_t wanted = chunked ? lead : 2 * lead - std::min<std::size_t>(lead, 1);
    program.order[r] = paired(ranks[r], std::min(all, wanted));
  }
  return true;
}

}  // namespace paceline::sim

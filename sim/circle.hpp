// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/action_index.hpp"

/// Why a Program cannot go on: the circle of actions that wait for each other.
namespace paceline::sim {

/// `action` waits for `need`. In a circle, the next wait's action stands with or before `need` in
/// the order of one rank; the last need's next is the first action.
struct Wait {
  Position action, need;
};

/// A circle of fewest waits among the actions from position `next[rank]` on; empty when there is
/// none. At least one rank must have actions left, and everything they need must stand somewhere.
/// Gives up after some 10^8 steps with the shortest so far: one through a head, where no rank can
/// go on from `next`.
std::vector<Wait> shortest_circle(const Program& program, const ActionIndex& index,
                                  std::span<const std::size_t> next);

/// "0BW0 (rank 0, position 1) waits for 1BW0 (rank 1, position 3), behind 1F1; 1F1 ...". Of long
/// circles the first eight waits.
std::string circle_text(const Program& program, const ActionIndex& index,
                        std::span<const Wait> circle);

}  // namespace paceline::sim

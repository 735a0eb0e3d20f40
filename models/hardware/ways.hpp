// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace paceline::models {

/// One direction of a connection between two points of a graph.
struct Arc {
  int from = 0, to = 0;
  double latency = 0;  ///< seconds
  int id = -1;         ///< what last_arcs answers with
};

/// The id of the arc by which every point is reached from `from` on the way of fewest arcs, then
/// least latency; -1: none, or the start itself.
std::vector<int> last_arcs(int points, const std::vector<Arc>& arcs, int from);

}  // namespace paceline::models

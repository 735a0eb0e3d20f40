// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/lower/network.hpp"

/// Data-parallel collectives message by message instead of one fluid flow each.
namespace paceline::sim {

/// Larger groups stay fluid: SimGrid slows down with the number of flows at the same time.
inline constexpr int kMaxChunkMembers = 64;
/// Graphs that would get more tasks from it stay fluid: some seconds of simulation.
inline constexpr std::int64_t kMaxChunkTasks = 400'000;

struct ChunkedTasks {
  std::vector<NetworkTask> tasks;
  std::vector<std::string> assumptions;  ///< which collectives stayed fluid, and why
};

/// Replaces every data-parallel ring collective of a folded graph by its steps. Task (k, m) is
/// step k of member m of its group, in all groups of the lane at once, which do the same at the
/// same time; it waits for step k-1 of m and of those that send to m. Latency and bytes of the
/// collective are spread evenly over the steps, so that alone it takes as long as before. Steps of
/// the lane's representative run on stream Dp between two tasks without length that begin and end
/// the collective; those of other members on no stream. `tasks` and what is returned say how tasks
/// use the network, by the ids before and after.
ChunkedTasks expand_chunks(TaskGraph& graph, const models::Scenario& scenario,
                           std::vector<NetworkTask> tasks);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/jobs/policy.hpp"

/// Jobs that always take all they can use of the largest region: what batch systems do.
namespace paceline::sim::jobs {
namespace {

JobPath whole_request(const RegionGraph& graph, const PlacementRequest& request) {
  const std::size_t count = boost::num_vertices(graph);
  int wanted = 0;
  for (std::size_t r = 0; r < count; ++r)
    wanted = std::max(wanted, request.usable(graph[r].devices / request.unit));
  for (std::size_t r = 0; wanted > 0 && r < count; ++r)
    if (free_stages(graph[r], request) >= wanted) return {{r, wanted}};
  return {};
}

}  // namespace

JobPolicy fcfs() { return {{}, whole_request}; }

JobPolicy shortest_first() {
  const auto shortest = [](std::span<const QueuedJob> queue, double /*congestion*/) {
    std::vector<double> priority;
    for (const QueuedJob& job : queue) priority.push_back(-job.run);
    return priority;
  };
  return {shortest, whole_request};
}

}  // namespace paceline::sim::jobs

// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/policies/one_region.hpp"

#include <algorithm>
#include <numeric>

namespace paceline::sim::jobs {

bool cheaper(const RegionState& a, const RegionState& b) { return a.price < b.price; }
bool more_free(const RegionState& a, const RegionState& b) { return a.free > b.free; }

std::vector<std::size_t> regions_by(const RegionGraph& graph, const RegionOrder& order) {
  std::vector<std::size_t> regions(boost::num_vertices(graph));
  std::iota(regions.begin(), regions.end(), std::size_t{0});
  std::stable_sort(regions.begin(), regions.end(),
                   [&](std::size_t a, std::size_t b) { return order(graph[a], graph[b]); });
  return regions;
}

JobPath in_one_region(const RegionGraph& graph, const PlacementRequest& request,
                      const RegionOrder& order) {
  for (const std::size_t r : regions_by(graph, order)) {
    const int stages = request.usable(free_stages(graph[r], request));
    const int wanted = request.wait_for_full ? request.usable(graph[r].devices / request.unit) : 1;
    if (stages > 0 && stages >= wanted) return {{r, stages}};
  }
  return {};
}

// Both baselines of BACE-Pipe are known from a summary only: "lowest cost first" and "largest data
// centre first", each job in one region.
JobPolicy lcf() {
  return {{}, [](const RegionGraph& graph, const PlacementRequest& request) {
            return in_one_region(graph, request, cheaper);
          }};
}

JobPolicy ldf() {
  return {{}, [](const RegionGraph& graph, const PlacementRequest& request) {
            return in_one_region(graph, request, more_free);
          }};
}

}  // namespace paceline::sim::jobs

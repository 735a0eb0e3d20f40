// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/placement.hpp"

#include <algorithm>

namespace paceline::sim::jobs {

int PlacementRequest::usable(int stages) const {
  const auto above = std::upper_bound(sizes->begin(), sizes->end(), stages);
  return above == sizes->begin() ? 0 : *(above - 1);
}

int free_stages(const RegionState& region, const PlacementRequest& request) {
  return region.free / request.unit;
}

const LinkState* link_between(const RegionGraph& graph, std::size_t a, std::size_t b) {
  const auto [edge, found] = boost::edge(a, b, graph);
  if (!found) return nullptr;
  const LinkState& link = graph[edge];
  return link.free >= kLeastFree * link.rate ? &link : nullptr;
}

}  // namespace paceline::sim::jobs

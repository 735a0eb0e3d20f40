// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "sim/jobs/policy.hpp"

namespace paceline::sim::jobs {

/// Whether region a comes before region b.
using RegionOrder = std::function<bool(const RegionState& a, const RegionState& b)>;
bool cheaper(const RegionState& a, const RegionState& b);
bool more_free(const RegionState& a, const RegionState& b);

/// All regions, the first by `order` in front; equals as they stand in the file.
std::vector<std::size_t> regions_by(const RegionGraph& graph, const RegionOrder& order);

/// In the first region by `order` that has what the job needs: what is free there or, where the
/// request waits for it, all that the job could use of the whole region.
JobPath in_one_region(const RegionGraph& graph, const PlacementRequest& request,
                      const RegionOrder& order);

}  // namespace paceline::sim::jobs

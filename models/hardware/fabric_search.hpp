// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/hardware/fabric.hpp"

namespace paceline::models {

/// The way with the fewest live wires, then the least latency; no device on it but its ends. Empty
/// when there is none. Walks the whole fabric.
std::vector<int> shortest_route(const Fabric& fabric, int from_vertex, int to_vertex);

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/hardware/fabric.hpp"

/// Wires of a collective that the switches of the network reduce (SHARP): up to them and back.
namespace paceline::sim {

/// Flows by wire.
using Load = std::map<int, std::uint32_t>;

/// Bytes of one flow: an all-reduce of S has a tree for each of the `per_domain` members of a
/// domain and S / per_domain in it; a gather or scatter counts in shares of one rank.
double switch_flow(models::CollectiveOp op, double size, int domains, int per_domain);

/// The wires of one group's trees, or those that its member `only` brings in: each once a tree,
/// both ways, since a switch passes on one sum of what comes from below and copies what comes from
/// above. A gather leaves its rank as one share and returns as those of all others, a scatter the
/// other way round; between switches both count as the larger. Inside a domain members pass the
/// array to the heads of the trees and back, by NVLS or along chains (CollNetDirect: the same bytes
/// on the wires to a switch).
///
/// `members` ascend, span several domains and leave each through as many members as the smallest
/// domain has.
Load switch_load(const models::Fabric& fabric, const models::Cluster& cluster,
                 const std::vector<int>& members, models::CollectiveOp op,
                 models::CollectiveAlgorithm algorithm, int only = -1);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "models/hardware/fabric.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Writes graph.network from transfers and, beside each, the streams whose tasks use it (tasks of
/// one never run together) and its flows by wire of the fabric; keeps only wires that can get full
/// and the tasks on them. A wire can get full when the most that each stream of each lane puts on
/// it, all at the same time, is more than it carries. Of wires with equal flows only the narrowest
/// stays: it limits them all, and the others never more.
void keep_shared(TaskGraph& graph, const models::Fabric& fabric,
                 const std::vector<std::set<std::size_t>>& streams,
                 std::vector<std::map<int, std::uint32_t>> loads, std::vector<Transfer> transfers,
                 std::vector<std::uint32_t> transfer_of);

}  // namespace paceline::sim

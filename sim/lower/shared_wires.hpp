// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "models/hardware/fabric.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Writes graph.network from transfers and, beside each, its flows by wire of the fabric; keeps
/// only wires that can get full and the tasks on them. A wire can get full when the most that each
/// stream of each lane puts on it, all at the same time, is more than it carries. Of wires with
/// equal flows only the narrowest stays: it limits them all, and the others never more.
void keep_shared(TaskGraph& graph, const models::Fabric& fabric,
                 std::vector<std::map<int, std::uint32_t>> loads, std::vector<Transfer> transfers,
                 std::vector<std::uint32_t> transfer_of);

}  // namespace paceline::sim

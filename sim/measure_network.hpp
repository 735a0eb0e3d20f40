// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/result.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// What the links of graph.network did to its tasks. `alone` is the makespan with every transfer at
/// its own rate. Bytes of a transfer count as spread evenly from the end of its latency to its
/// finish. What a transfer is late counts for the link on its way that is fullest while in use;
/// links that made none late are left out, the worst come first.
NetworkResult measure_network(const TaskGraph& graph, const Timeline& timeline, double alone);

}  // namespace paceline::sim

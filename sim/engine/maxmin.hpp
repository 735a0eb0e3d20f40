// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "sim/engine/reference.hpp"

/// Max-min fair sharing by an own solver: independent of SimGrid, and what its results are tested
/// against. Naive: every change of the set of flows solves all rates again.
namespace paceline::sim {

/// Rates in bytes/s of one flow of each active transfer: as equal as the capacities (bytes/s, by
/// link) and each transfer's own limit allow (progressive filling, Bertsekas & Gallager, Data
/// Networks, section 6.5.2). A link without capacity gives its transfers rate 0.
std::vector<double> max_min_rates(std::span<const double> capacity,
                                  std::span<const Transfer* const> active);

/// The graph with its links shared. Throws base::Error as run_reference does, and where transfers
/// wait for ever on dead links.
Timeline run_max_min(const TaskGraph& graph, const EngineOptions& options = {});

}  // namespace paceline::sim

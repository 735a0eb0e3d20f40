// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <optional>

#include "models/scenario/scenario.hpp"
#include "sim/result.hpp"
#include "sim/steady.hpp"
#include "sim/task_graph.hpp"

/// From a timeline to the figures people ask for (definitions: docs/formats.md, section Result).
namespace paceline::sim {

/// With `steady`, of one of the steps the timeline repeats; memory is always that of all of it.
/// Inference (`forward_only`) needs a third of model_flops().
Result measure(const models::Scenario& scenario, const TaskGraph& graph, const Timeline& timeline,
               const std::optional<SteadyState>& steady = {}, bool forward_only = false);

/// Each instant of the lane between `from` and `to` (at most the makespan) goes to the first of
/// compute > communication waited for > host > bubble; adds up to their distance. `coordination`:
/// seconds that choosing an action took, host time.
PartSeconds breakdown_of(const TaskGraph& graph, const Timeline& timeline, std::uint32_t lane,
                         double from = 0, double to = std::numeric_limits<double>::infinity(),
                         double coordination = 0);

/// Peaks of every lane from replaying allocations and frees along the timeline.
std::vector<MemoryPeak> replay_memory(const TaskGraph& graph, const Timeline& timeline);

/// Capacities of the peaks of `result`, and a warning where the fullest rank does not or hardly
/// fit.
void check_memory(const models::Scenario& scenario, Result& result);

/// Floating-point operations a step needs: 6 per parameter of the layers and the head and per
/// token, and causal attention (forward, and twice as much backward). Recomputation is not counted.
double model_flops(const models::Scenario& scenario);

}  // namespace paceline::sim

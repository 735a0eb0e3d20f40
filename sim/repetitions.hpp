// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "sim/engine/reference.hpp"
#include "sim/jitter.hpp"

namespace paceline::sim {

/// Writes Task::seconds of one repetition into a copy of the graph.
using ApplyRepetition = std::function<void(int repetition, TaskGraph& graph)>;

/// Step times of `count` repetitions of one graph, in their order, on `threads` threads (0: one per
/// processor), each with a copy of its own; the same whatever their number. `step_time` empty: the
/// makespan.
std::vector<double> repeated_times(const TaskGraph& graph, int count, const ApplyRepetition& apply,
                                   const EngineOptions& options, const StepTime& step_time,
                                   int threads, const RepetitionsBegun& begun = {});

}  // namespace paceline::sim

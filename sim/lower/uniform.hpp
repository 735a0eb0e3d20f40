// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"
#include "sim/stage_times.hpp"
#include "sim/task_graph.hpp"

/// The smallest lowering: one time per stage and pass, one per hop. What published stage profiles
/// and the closed forms of schedules need.
namespace paceline::sim {

/// One lane per rank, one task per action in the rank's order, and one message task on PpDown or
/// PpUp of the sender for every result that another rank needs. BW takes the time of B and W, R
/// that of F, U and N none unless `times.others` says so; a fused group waits for everything its
/// members need. Tasks are added in execution order, so engines need no search. Throws base::Error
/// for a Program that cannot run, for passes without a time (unknown and not in `times.others`),
/// and when `times.stages` does not have one entry per stage or `times.slice_scale` not one per
/// slice.
TaskGraph timed(const Program& program, const StageTimes& times);

/// Whether StageTime says how long the pass takes; others need an entry in StageTimes::others.
bool stage_time_covers(const Pass& pass);

}  // namespace paceline::sim

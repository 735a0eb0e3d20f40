// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"
#include "sim/stage_times.hpp"
#include "sim/task_graph.hpp"

/// The smallest lowering: one time per stage and pass, one per hop. What published stage profiles
/// and the closed forms of schedules need.
namespace paceline::sim {

/// One lane per rank, one task per action in the rank's order, and one message task on PpDown or
/// PpUp of the sender for every stage boundary that crosses ranks. BW takes the time of B and W; a
/// fused group waits for everything its members need. Tasks are added in execution order, so
/// engines need no search. Throws base::Error for a Program that cannot run, for passes without a
/// time, and when `times.stages` does not have one entry per stage.
TaskGraph timed(const Program& program, const StageTimes& times);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/action_index.hpp"
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

/// What must hold for a Program before anyone assigns times to it.
namespace paceline::sim {

/// All positions in an order in which every action comes after what it needs: its predecessor on
/// the rank, the passes it reads, and the same pass of the neighbouring stage it receives from.
/// Ranks are taken in turn, so the order is the same on every run. An action's fused companions
/// follow it at once and need nothing of each other. Throws base::Error naming the shortest circle
/// when the Program waits for itself (sim/circle.hpp), and naming the action when something it
/// needs is missing or doubled.
std::vector<Position> execution_order(const Program& program);
std::vector<Position> execution_order(const Program& program, const ActionIndex& index);

/// By pass: whether it stores something: it runs down the stages, or brings something back from
/// elsewhere (local and sparse), and another pass frees it.
std::vector<bool> storing_passes(const Program& program);

/// The largest number of stored inputs a rank holds at a time, counted in (stage, microbatch,
/// slice): an action of a downward pass stores one until a pass that frees it runs. Divide by the
/// stages of the rank to get units of whole-rank microbatches.
std::vector<int> peak_in_flight(const Program& program);
std::vector<int> peak_in_flight(const Program& program, const ActionIndex& index);

/// Throws base::Error unless every (stage, microbatch, slice) has each pass that runs on the stage
/// and is not sparse exactly once, of B, W and BW either BW or both others; dependencies hold,
/// nothing waits for itself, and everything stored is freed once. A stage that a microbatch skips
/// has none of them. Messages name lines of the file the Program came from, where `places` are.
void verify(const Program& program, const ProgramPlaces* places = nullptr);

/// Whether the Program ends when each boundary (pass, receiving stage and rank) buffers `slots`
/// messages and a rank with a message for a full buffer waits. A buffered message leaves when its
/// action starts.
bool runs_with_buffers(const Program& program, int slots);

/// The fewest slots with which it ends. `program` must pass verify().
int required_buffers(const Program& program);

/// Throws base::Error unless the Program ends with `slots` buffers (runs_with_buffers): the ring of
/// ranks that wait for each other, what each waits for, and the fewest slots that work. `program`
/// must pass verify().
void check_buffers(const Program& program, int slots, const ProgramPlaces* places = nullptr);

/// The tasks that determine the makespan, first to last: each starts when the one before ends.
std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace paceline::sim

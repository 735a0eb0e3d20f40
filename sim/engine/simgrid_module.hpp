// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "sim/engine/reference.hpp"

/// The door to the module that links SimGrid. Loaded on demand, because SimGrid's own libraries
/// would add some 36 ms to the start of every command.
namespace paceline::sim {

/// What a run leaves, in memory both processes see.
struct SimgridOutcome {
  enum class State : int { Unfinished, Done, Waiting, Failed };
  State state = State::Unfinished;
  double makespan = 0;
  std::size_t running = 0;  ///< of State::Waiting: tasks written to `stuck`
  static constexpr std::size_t kStuck = 64;
  TaskId stuck[kStuck] = {};
  char message[512] = {};  ///< of State::Failed
};

/// Runs the graph, which has been inspected, and writes start and finish by task.
using SimgridRun = void (*)(const TaskGraph& graph, const EngineOptions& options, double* start,
                            double* finish, SimgridOutcome& outcome);
inline constexpr const char* kSimgridSymbol = "paceline_simgrid_run";
inline constexpr const char* kSimgridModule = "libpaceline_simgrid.so";

}  // namespace paceline::sim

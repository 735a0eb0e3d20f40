// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

/// What a step takes where the pipeline never flushes: the piece of the run that a Program is has a
/// beginning and an end, a step in its middle has neither.
namespace paceline::sim {

/// The part of a timeline that repeats: `steps` whole steps between two moments.
struct SteadyState {
  double from = 0, to = 0;  ///< seconds
  double steps = 1;
  double piece = 1;  ///< steps of work in the whole timeline
  double period() const { return (to - from) / steps; }
};

/// Seconds between corresponding actions one step apart, a step being `microbatches` microbatches:
/// on the lane with most compute, from the end of one gradient (W or BW) to the end of the one a
/// whole number of steps later, as many steps as fit between the first and the last quarter of the
/// Program (at least one), divided by their number. `graph` has one lane per rank, or rank classes
/// whose lanes count through the ranks again and again. Throws base::Error when the Program has
/// fewer than two steps.
SteadyState steady_state(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                         int microbatches);
/// Of steady_state().
double steady_period(const Program& program, const TaskGraph& graph, const Timeline& timeline,
                     int microbatches);

/// Microbatches of a Program long enough for steady_period, whole steps of `microbatches`: its
/// middle half holds at least two steps and two `window`s (microbatches between updates), and its
/// first quarter the fill of `ranks` ranks (up to two microbatches each).
int steady_microbatches(int ranks, int microbatches, int window);

}  // namespace paceline::sim

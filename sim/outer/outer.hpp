// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "models/outer/outer.hpp"
#include "sim/result.hpp"
#include "sim/task_graph.hpp"

/// Training that exchanges now and then, as a graph one level up: inner steps of workers are its
/// compute tasks, exchanges between workers its collectives. The engines are those of a step.
namespace paceline::sim {

/// A worker's inner step, from the simulation of the scenario.
struct InnerStep {
  double seconds = 0;
  /// At the end of the step: while its layers' gradients become ready one after another, the last
  /// layer first, evenly (the backward pass of the last microbatch).
  double ready_seconds = 0;
  int layers = 1;
  double parameters = 0;  ///< elements that are exchanged
};

/// Seconds and bytes of one sync whose layers all go one after another.
struct SyncCost {
  double layer_seconds = 0;  ///< of one layer on the wire
  double tail_seconds = 0;   ///< once, behind the last: latency of the messages
  double layer_bytes = 0;    ///< sent by a worker, one way
};
SyncCost sync_cost(const models::OuterChoice& outer, const InnerStep& step,
                   const models::OuterSync& sync);

/// Lanes are classes of workers that are alike; lane l of the graph stands for `members` of them.
/// Partners of pairs are i and (round - i) modulo the workers, so all of them meet.
TaskGraph outer_graph(const models::OuterChoice& outer, const InnerStep& step, int rounds);

/// The steady state: rounds from the middle of enough of them.
OuterResult simulate_outer(const models::OuterChoice& outer, const InnerStep& step);
/// The same workers exchanging gradients in every step, plain numbers of `element_bits`.
OuterResult simulate_data_parallel(const models::OuterChoice& outer, const InnerStep& step);

}  // namespace paceline::sim

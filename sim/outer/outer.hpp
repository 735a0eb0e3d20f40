// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "models/cost/kernel.hpp"
#include "models/outer/outer.hpp"
#include "sim/outer/wan.hpp"
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
  // For codecs of them.
  double hidden = 0;                             ///< edge of their matrices; 0: one matrix
  int devices = 1;                               ///< of a worker, which share the work
  const models::KernelModel* kernels = nullptr;  ///< null: codecs take no time
};

/// Lanes are classes of workers that are alike; lane l of the graph stands for `members` of them.
/// Partners of pairs are i and (round - i) modulo the workers, so all of them meet.
/// `wan`: what joins them, null where each has a link of its own.
TaskGraph outer_graph(const models::OuterChoice& outer, const InnerStep& step, int rounds,
                      const Wan* wan = nullptr);

/// The steady state: rounds from the middle of enough of them; of workers and links that come and
/// go the mean over OuterChoice::rounds.
OuterResult simulate_outer(const models::OuterChoice& outer, const InnerStep& step,
                           const Wan* wan = nullptr);
/// The same workers exchanging gradients in every step, plain numbers of `element_bits`, nothing
/// lost and nobody away.
OuterResult simulate_data_parallel(const models::OuterChoice& outer, const InnerStep& step,
                                   const Wan* wan = nullptr);
/// Share of the workers' rounds in which they work.
double working_share(const models::OuterChoice& outer);

}  // namespace paceline::sim

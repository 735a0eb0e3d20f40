// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"
#include "sim/engine/reference.hpp"
#include "sim/task_graph.hpp"

/// The engine that does the work: real kernels with the shapes of the graph, real messages and
/// collectives between processes, in the order of the Program.
namespace paceline::hardware {

struct Options {
  int warmups = 1;  ///< steps before those that count
  int steps = 5;    ///< that count
  std::uint64_t seed = 1;
};

struct Run {
  /// Of the step with the median makespan, seconds since its start; on rank 0 of every task.
  sim::Timeline timeline;
  std::vector<double> step_seconds;  ///< makespans of the steps that count; on rank 0
  /// Kernels that stand for others, or for time alone: "bias gradients: copy-d2d of as many bytes".
  std::vector<std::string> substitutes;
};

/// Runs steps of a graph lowered with LowerOptions::unfold and kernels; called by all ranks of
/// `world` with the same graph, rank r doing the tasks of the lane whose representative is r.
///
/// A rank is one thread of control. Under fixed dispatch it takes its tasks in the order they were
/// added; under ready dispatch the first action whose inputs are there. A message leaves as soon as
/// its turn comes and is under way while the rank goes on; it has ended when the receiver has it.
/// On a processor collectives are waited for in their turn: who computes does not communicate. On a
/// GPU everything is enqueued, kernels and each kind of communication in streams of their own, and
/// timed by events of the streams; ready dispatch is for one rank there.
///
/// base::Error when the graph's ranks are not those of `world`, a task is of a kind that needs what
/// this backend lacks, memory does not suffice, or a kernel's output is not a number afterwards.
Run run(const sim::TaskGraph& graph, const sim::EngineOptions& engine,
        const kernels::Backend& backend, const kernels::Communicator& world,
        const Options& options);

}  // namespace paceline::hardware

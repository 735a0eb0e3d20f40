// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/task_graph.hpp"

/// From one lane for all data-parallel replicas of a pipeline rank to one lane each: what times
/// that differ between replicas need.
namespace paceline::sim {

/// Replicas that may run apart: dp, or fewer where expert groups span several of them. The ranks of
/// one tp x cp (x ep) group meet in every layer and keep step: one lane stands for them.
int independent_replicas(const models::Scenario& scenario);

struct UnfoldedGraph {
  TaskGraph graph;  ///< without network
  int replicas = 1;
  std::vector<TaskId> origin;  ///< by task: the task of the folded graph; kNoTask: a join
};

/// Copies the tasks of the folded graph for each replica; lane l of replica k is lane
/// k * lanes + l. A data-parallel collective starts on all of them together, when the last is
/// ready: also those of HSDP, which really wait for fewer. Every dependency of `graph` must have
/// been added before its task.
UnfoldedGraph unfold_replicas(const TaskGraph& graph, int replicas);

/// The lane of an unfolded graph that stands for a rank, of `lanes` lanes a replica.
std::size_t lane_of_rank(const models::Plan& plan, int rank, int replicas, std::size_t lanes);

}  // namespace paceline::sim

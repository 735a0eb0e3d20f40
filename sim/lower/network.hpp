// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "models/parallel/plan.hpp"
#include "sim/task_graph.hpp"

/// From what tasks send to the wires they share.
namespace paceline::sim {

/// A task that uses the network, as the builder made it.
struct NetworkTask {
  TaskId task = kNoTask;
  models::CollectiveOp op = models::CollectiveOp::SendRecv;
  models::CollectiveAlgorithm algorithm = models::CollectiveAlgorithm::Direct;
  double size = 0;   ///< bytes, as collective_time counts
  double fluid = 0;  ///< seconds of the task that depend on the size; the rest is latency
  /// Who: for SendRecv and pairs the device offsets of both ends in the replica, else the axes.
  int from = 0, to = 0;
  const std::vector<models::Axis>* axes = nullptr;
  /// One of equal steps of a collective, and of these what leaves one member of the group (its
  /// index, ascending by device); -1: the messages of all.
  int steps = 1, member = -1;
};

/// Fills graph.network: every lane's task stands for the flows of all its members, over the wires
/// their messages take. Of wires that carry the same flows the narrowest stays; wires that cannot
/// get full, whatever runs at the same time, are left out, and with them tasks without any.
///
/// A collective goes around a ring of its members in device order, node by node; with k members a
/// node there are k rings, each leaving a node through another member. Trees are taken to use the
/// same wires with the bytes of a tree. Rings fit NCCL's choice for large arrays. What the switches
/// of the network reduce goes up to them and back (switch_flows.hpp).
void attach_network(TaskGraph& graph, const models::Scenario& scenario, const models::Plan& plan,
                    const std::vector<NetworkTask>& tasks, int replicas);

}  // namespace paceline::sim

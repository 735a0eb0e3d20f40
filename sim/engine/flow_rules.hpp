// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "sim/engine/reference.hpp"

/// What every engine that shares links agrees on.
namespace paceline::sim {

/// A task with bytes to move is a flow once its latency has passed; others only take their time.
bool flows_after_latency(const Network& network, TaskId task);

/// All changes of all links, by time.
struct LinkChange {
  double at = 0;
  std::uint32_t link = 0;
  double bandwidth = 0;
};
std::vector<LinkChange> link_changes(const Network& network);

/// Links, transfers and references between them are finite, positive and exist; throws base::Error
/// naming the link or the task.
void inspect_network(const TaskGraph& graph);

/// No task can go on: a circle, or `running` transfers on dead links. Throws base::NoProgress
/// naming them, or base::Error for a circle.
[[noreturn]] void fail_waiting(const TaskGraph& graph, Workspace& workspace,
                               std::span<const TaskId> running, bool stream_order);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

/// Program + costs -> TaskGraph: gives every action its duration, and inserts what schedules never
/// mention: messages between stages, gradient and parameter collectives, the optimizer.
namespace paceline::sim {

struct LowerOptions {
  /// One lane per rank instead of one per class of identical ranks (tests, jitter, stragglers).
  bool unfold = false;
  /// Record the collectives inside actions (Segment::inner), for traces.
  bool inner = false;
  /// Say which wires the tasks share (TaskGraph::network), for engines that let them.
  bool network = false;
  /// With `network`: data-parallel rings message by message (chunks.hpp).
  bool chunks = false;
  /// Every kernel and collective a task of its own, with what it computes and who takes part
  /// (TaskGraph::kernels, exchanges): what an engine needs that does the work. Without `network`.
  bool kernels = false;
};

TaskGraph lower(const models::Scenario& scenario, const models::Plan& plan, const Program& program,
                const LowerOptions& options = {});

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/task_graph.hpp"

/// The one rule for compute beside communication, shared by all engines: while a communication
/// stream of its lane is active, a compute task runs at rate 1/slowdown, else at rate 1. Rates
/// change only when tasks start or end. Why: collectives take SMs and memory bandwidth from
/// kernels.
namespace paceline::sim {

/// Collectives inside a layer (tp, cp) do not count: what their overlap costs is part of the
/// layer's own time (stack.tp_exposed).
constexpr bool is_communication(Stream stream) {
  switch (stream) {
    case Stream::Ep:
    case Stream::PpDown:
    case Stream::PpUp:
    case Stream::PpAll:
    case Stream::Dp:
      return true;
    case Stream::Compute:
    case Stream::Tp:
    case Stream::Cp:
    case Stream::CpOuter:
    case Stream::CopyIn:
    case Stream::CopyOut:
    case Stream::Host:
    case Stream::None:
      return false;
  }
  return false;
}

/// Whether the task's end depends on what runs beside it.
constexpr bool feels_overlap(const Task& task) {
  return task.stream == Stream::Compute && task.slowdown > 1.0F;
}

/// Seconds of work done per second.
constexpr double progress_rate(const Task& task, bool communication_active) {
  return communication_active && feels_overlap(task) ? 1.0 / static_cast<double>(task.slowdown)
                                                     : 1.0;
}

/// A running task whose rate changes: `remaining` seconds of work at time `since`.
struct Progress {
  double remaining = 0;
  double since = 0;
  double rate = 1;

  void change_rate(double now, double new_rate) {
    remaining -= (now - since) * rate;
    if (remaining < 0) remaining = 0;  // rounding at the very end of the task
    since = now;
    rate = new_rate;
  }
  double finish() const { return since + remaining / rate; }
};

}  // namespace paceline::sim

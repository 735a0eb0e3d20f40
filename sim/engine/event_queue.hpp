// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "sim/engine/event_heap.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/engine/ready_set.hpp"

/// The rules of all engines that need events: dependencies, stream order or dispatch, overlap.
namespace paceline::sim {

inline constexpr double kUnfinished = -1;  ///< Timeline::finish of a task that has not ended
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Where bytes are moved by somebody else: `moves(t)` says that task t is a flow after its latency,
/// `start(t, now)` begins it, and whoever moves it calls EventQueue::end_flow.
struct NoFlows {
  static bool moves(TaskId) { return false; }
  static double latency(TaskId) { return 0; }
  static void start(TaskId, double) {}
};

/// Events in order of (time, task). Tasks that feel overlap get a new event whenever communication
/// of their lane begins or ends; the version of the lane tells outdated events.
template <class Flows>
class EventQueue {
 public:
  EventQueue(const TaskGraph& graph, Workspace& workspace, const EngineOptions& options,
             Flows& flows)
      : graph_(graph),
        w_(workspace),
        events_(workspace.events),
        fixed_(options.dispatch == models::Dispatch::Fixed),
        coordination_(fixed_ ? 0 : options.coordination),
        ready_(graph, workspace, options.buffers),
        flows_(flows) {}

  /// Starts what waits for nothing, at time 0.
  void begin() {
    prepare();
    for (TaskId t = 0; t < graph_.tasks.size(); ++t) {
      if (w_.pending[t] == 0) make_ready(t, 0);
    }
    advance(0);
  }
  /// Takes all events of this very time; none may be earlier. Streams choose after everything that
  /// ends now has ended.
  void advance(double now) {
    while (!events_.empty() && events_.next_time() <= now) take_event();
    dispatch(now);
  }
  bool idle() { return events_.empty(); }
  double next_time() { return events_.empty() ? kNever : events_.next_time(); }
  /// The bytes of the task have arrived; advance(at) must follow.
  void end_flow(TaskId t, double at) { events_.push({at, t, 0}); }
  bool complete() const { return finished_ == graph_.tasks.size(); }
  bool started(TaskId t) const { return w_.pending[t] == 0; }

 private:
  static constexpr std::uint32_t kLatencyEnd = 1;  ///< Event::version of a flow about to start
  static constexpr std::uint32_t kAgreed = 0xffffffffU;  ///< of an action chosen, about to start
  /// Calls f(predecessor, task) for every edge, stream order included where it binds.
  template <class F>
  void for_each_edge(const F& f) {
    std::vector<TaskId>& last = w_.stack;
    last.assign(graph_.lanes.size() * kStreams, kNoTask);
    for (TaskId t = 0; t < graph_.tasks.size(); ++t) {
      for (const TaskId d : graph_.dependencies(t)) f(d, t);
      const Task& task = graph_.tasks[t];
      if (task.stream == Stream::None) continue;
      TaskId& previous = last[stream_slot(task)];
      if (previous != kNoTask && (fixed_ || ready_.follows(t))) f(previous, t);
      previous = t;
    }
  }

  void prepare() {
    const std::size_t n = graph_.tasks.size();
    if (!fixed_) ready_.prepare();
    w_.pending.assign(n, 0);
    w_.first_successor.assign(n + 2, 0);
    for_each_edge([&](TaskId before, TaskId after) {
      ++w_.pending[after];
      ++w_.first_successor[before + 2];
    });
    for (std::size_t i = 2; i < n + 2; ++i) w_.first_successor[i] += w_.first_successor[i - 1];
    w_.successors.resize(w_.first_successor[n + 1]);
    for_each_edge([&](TaskId before, TaskId after) {
      w_.successors[w_.first_successor[before + 1]++] = after;
    });
    w_.timeline.finish.assign(n, kUnfinished);
    w_.listed.clear();
    w_.lanes.assign(graph_.lanes.size(), {});
    w_.streams.resize(fixed_ ? 0 : graph_.lanes.size() * kStreams);
    for (Workspace::StreamState& stream : w_.streams) {
      stream.busy = stream.listed = false;
      stream.ready.clear();
    }
  }

  void take_event() {
    const Workspace::Event event = events_.take();
    const Task& task = graph_.tasks[event.task];
    if (event.version == kAgreed) {
      start(event.task, event.time);
      return;
    }
    if (feels_overlap(task)) {
      Workspace::LaneState& lane = w_.lanes[task.lane];
      if (event.version != lane.version) return;
      lane.occupied = false;
    } else if (event.version == kLatencyEnd) {
      flows_.start(event.task, event.time);
      return;
    }
    finish(event.task, event.time);
  }

  void make_ready(TaskId t, double now) {
    if (fixed_ || graph_.tasks[t].stream == Stream::None || ready_.follows(t)) {
      start(t, now);
      return;
    }
    ready_.add(t);
    list(stream_slot(graph_.tasks[t]));
  }

  void list(std::size_t slot) {
    if (w_.streams[slot].listed) return;
    w_.streams[slot].listed = true;
    w_.listed.push_back(static_cast<std::uint32_t>(slot));
  }

  /// What starts may make room for others: the list grows while it is worked off.
  void dispatch(double now) {
    for (std::size_t i = 0; i < w_.listed.size(); ++i) {
      const std::uint32_t slot = w_.listed[i];
      Workspace::StreamState& stream = w_.streams[slot];
      stream.listed = false;
      if (stream.busy) continue;
      const TaskId t = ready_.take(slot, [this](std::size_t s) { list(s); });
      if (t == kNoTask) continue;
      stream.busy = true;
      if (coordination_ > 0 && is_choice(graph_.tasks[t])) {
        events_.push({now + coordination_, t, kAgreed});
      } else {
        start(t, now);
      }
    }
    w_.listed.clear();
  }
  static bool is_choice(const Task& task) {
    return task.stream == Stream::Compute && task.kind == TaskKind::Action;
  }

  void start(TaskId t, double now) {
    const Task& task = graph_.tasks[t];
    w_.timeline.start[t] = now;
    if (!fixed_) ready_.started(t, [this](std::size_t s) { list(s); });
    Workspace::LaneState& lane = w_.lanes[task.lane];
    if (feels_overlap(task)) {
      lane.occupied = true;
      lane.running = t;
      lane.progress = {task.seconds, now, progress_rate(task, lane.communicating > 0)};
      events_.push({lane.progress.finish(), t, ++lane.version});
      return;
    }
    if (is_communication(task.stream) && lane.communicating++ == 0) change_rate(lane, now);
    if (flows_.moves(t)) {
      events_.push({now + flows_.latency(t), t, kLatencyEnd});
    } else {
      events_.push({now + task.seconds, t, 0});
    }
  }

  void finish(TaskId t, double now) {
    const Task& task = graph_.tasks[t];
    w_.timeline.finish[t] = now;
    w_.timeline.makespan = std::max(w_.timeline.makespan, now);
    ++finished_;
    Workspace::LaneState& lane = w_.lanes[task.lane];
    if (is_communication(task.stream) && --lane.communicating == 0) change_rate(lane, now);
    if (!fixed_ && task.stream != Stream::None && ready_.ends(t)) {
      w_.streams[stream_slot(task)].busy = false;
      list(stream_slot(task));
    }
    for (std::uint32_t i = w_.first_successor[t]; i < w_.first_successor[t + 1]; ++i) {
      const TaskId next = w_.successors[i];
      if (--w_.pending[next] == 0) make_ready(next, now);
    }
  }

  void change_rate(Workspace::LaneState& lane, double now) {
    if (!lane.occupied) return;
    const Task& task = graph_.tasks[lane.running];
    lane.progress.change_rate(now, progress_rate(task, lane.communicating > 0));
    events_.push({lane.progress.finish(), lane.running, ++lane.version});
  }

  const TaskGraph& graph_;
  Workspace& w_;
  EventHeap events_;
  const bool fixed_;
  const double coordination_;  ///< seconds
  ReadySet ready_;
  Flows& flows_;
  std::size_t finished_ = 0;
};

}  // namespace paceline::sim

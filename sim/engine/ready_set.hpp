// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>

#include "sim/engine/graph_order.hpp"

/// Ready dispatch: what a free stream takes next.
///
/// The order in which tasks were added, the hint, ranks the ready ones (RRFP: readiness-first
/// dispatch of pipeline stages). A unit is chosen as a whole: an action and the kernels it was
/// split into follow each other on their stream.
///
/// With N buffers a boundary, the messages of one pass from one stage to one lane
/// (TaskGraph::boundaries), holds at most N of them from the moment they start until their
/// receiving actions start.
///  - A message starts when there is room and all that the receiver's order puts before it at the
///    boundary have started. Until then its sender keeps it and goes on with other work.
///  - An action that would overtake another is chosen only while fewer than N messages of its
///    boundary are made and not taken. The first action of the hint not chosen yet needs no room.
/// Hence no deadlock, whatever N >= 1: of the actions not started take the first in an order that
/// the fixed dispatch could run. What it needs has finished, it may be chosen without room, and
/// the messages before its own at a boundary went to earlier actions, which have all started.
namespace paceline::sim {

class ReadySet {
 public:
  /// `buffers`: N; 0: boundaries hold any number.
  ReadySet(const TaskGraph& graph, Workspace& workspace, int buffers)
      : graph_(graph), w_(workspace), buffers_(static_cast<std::uint32_t>(buffers)) {}

  void prepare();

  /// Whether it comes right after the task before it on its stream, as part of its unit.
  bool follows(TaskId t) const { return w_.continues[t]; }
  /// Whether its stream is free when it ends.
  bool ends(TaskId t) const { return w_.unit_next[t] == kNoTask; }

  /// All dependencies of the first task of a unit have finished.
  void add(TaskId t) {
    if (buffers_ > 0 && w_.boundary_of[t] != Workspace::kNoBoundary) return;  // `arrivals` has it
    std::vector<TaskId>& heap = buffers_ > 0 ? w_.queues[w_.queue_of[t]].heap
                                             : w_.streams[stream_slot(graph_.tasks[t])].ready;
    heap.push_back(t);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }

  /// The next for a free stream, kNoTask when nothing may start. Calls list(slot) for streams that
  /// may have something to do now.
  template <class List>
  TaskId take(std::size_t slot, const List& list) {
    if (buffers_ == 0) return pop(w_.streams[slot].ready);
    return take_bounded(slot, list);
  }

  /// Its messages leave their buffers.
  template <class List>
  void started(TaskId t, const List& list) {
    if (buffers_ == 0) return;
    for (const TaskId d : graph_.dependencies(t)) {
      if (w_.boundary_of[d] == Workspace::kNoBoundary || w_.receiver[d] != t) continue;
      Workspace::Boundary& boundary = w_.boundaries[w_.boundary_of[d]];
      ++boundary.taken;
      for (const std::uint32_t slot : boundary.streams) list(slot);
    }
  }

 private:
  static TaskId pop(std::vector<TaskId>& heap) {
    if (heap.empty()) return kNoTask;
    const TaskId t = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    return t;
  }

  bool may_be_made(const Workspace::ReadyQueue& queue, TaskId head) const {
    if (queue.boundary == Workspace::kNoBoundary || queue.heap.front() == head) return true;
    const Workspace::Boundary& boundary = w_.boundaries[queue.boundary];
    return boundary.made - boundary.taken < static_cast<std::int64_t>(buffers_);
  }
  /// The message of the boundary that may start now, if the stream has it.
  TaskId next_message(const Workspace::Boundary& boundary, std::size_t slot) const {
    if (boundary.sent == boundary.count || boundary.sent - boundary.taken >= buffers_)
      return kNoTask;
    const TaskId t = w_.arrivals[boundary.first + boundary.sent];
    return stream_slot(graph_.tasks[t]) == slot && w_.pending[t] == 0 ? t : kNoTask;
  }

  template <class List>
  TaskId take_bounded(std::size_t slot, const List& list) {
    Workspace::ReadySources& sources = w_.sources[slot];
    TaskId best = kNoTask;  // the largest number there is
    Workspace::ReadyQueue* from = nullptr;
    for (const std::uint32_t q : sources.queues) {
      Workspace::ReadyQueue& queue = w_.queues[q];
      if (queue.heap.empty() || queue.heap.front() > best) continue;
      if (!may_be_made(queue, sources.head)) continue;
      best = queue.heap.front();
      from = &queue;
    }
    for (const std::uint32_t b : sources.boundaries) {
      const TaskId t = next_message(w_.boundaries[b], slot);
      if (t >= best) continue;
      best = t;
      from = nullptr;
    }
    if (best == kNoTask) return kNoTask;
    choose(best, from, sources, list);
    return best;
  }

  template <class List>
  void choose(TaskId t, Workspace::ReadyQueue* from, Workspace::ReadySources& sources,
              const List& list) {
    if (from == nullptr) {
      Workspace::Boundary& boundary = w_.boundaries[w_.boundary_of[t]];
      ++boundary.sent;
      for (const std::uint32_t slot : boundary.streams) list(slot);  // the next may be elsewhere
    } else {
      pop(from->heap);
      if (from->boundary != Workspace::kNoBoundary) ++w_.boundaries[from->boundary].made;
    }
    w_.chosen[t] = true;
    while (sources.head != kNoTask && w_.chosen[sources.head])
      sources.head = w_.next_choice[sources.head];
  }

  void find_units();
  void find_boundaries();
  void find_queues();

  const TaskGraph& graph_;
  Workspace& w_;
  const std::uint32_t buffers_;
};

}  // namespace paceline::sim

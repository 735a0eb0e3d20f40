// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/ready_set.hpp"

#include <tuple>

namespace paceline::sim {
namespace {

constexpr std::uint32_t kNoBoundary = Workspace::kNoBoundary;

/// An action that was split begins and ends with a task of no length and has kernels between.
bool same_unit(const Task& before, const Task& task) {
  if (task.stream != Stream::Compute || before.origin != task.origin) return false;
  if (task.kind == TaskKind::Kernel)
    return before.kind == TaskKind::Action || before.kind == TaskKind::Kernel;
  return task.kind == TaskKind::Action && before.kind == TaskKind::Kernel;
}

void add_once(std::vector<std::uint32_t>& list, std::uint32_t item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

void ReadySet::prepare() {
  find_units();
  if (buffers_ == 0) return;
  find_boundaries();
  find_queues();
}

void ReadySet::find_units() {
  const std::size_t n = graph_.tasks.size();
  w_.unit_next.assign(n, kNoTask);
  w_.continues.assign(n, false);
  std::vector<TaskId>& last = w_.stack;
  last.assign(graph_.lanes.size() * kStreams, kNoTask);
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = graph_.tasks[t];
    if (task.stream != Stream::Compute) continue;
    TaskId& before = last[stream_slot(task)];
    if (before != kNoTask && same_unit(graph_.tasks[before], task)) {
      w_.unit_next[before] = t;
      w_.continues[t] = true;
    }
    before = t;
  }
}

/// The first task of another lane that waits for a message receives it.
void ReadySet::find_boundaries() {
  const std::size_t n = graph_.tasks.size();
  w_.receiver.assign(n, kNoTask);
  w_.boundary_of.assign(n, kNoBoundary);
  w_.arrivals.clear();
  w_.boundaries.clear();
  for (TaskId t = 0; t < n; ++t) {
    for (const TaskId d : graph_.dependencies(t)) {
      if (graph_.boundary(d) == kNoTask || w_.receiver[d] != kNoTask) continue;
      if (graph_.tasks[d].lane == graph_.tasks[t].lane) continue;
      w_.receiver[d] = t;
      w_.arrivals.push_back(d);
    }
  }
  const auto where = [&](TaskId message) {
    return std::pair(graph_.tasks[w_.receiver[message]].lane, graph_.boundary(message));
  };
  std::sort(w_.arrivals.begin(), w_.arrivals.end(), [&](TaskId a, TaskId b) {
    return std::tuple(where(a), w_.receiver[a], a) < std::tuple(where(b), w_.receiver[b], b);
  });
  for (std::uint32_t i = 0; i < w_.arrivals.size(); ++i) {
    const TaskId message = w_.arrivals[i];
    if (i == 0 || where(message) != where(w_.arrivals[i - 1]))
      w_.boundaries.emplace_back().first = i;
    Workspace::Boundary& boundary = w_.boundaries.back();
    ++boundary.count;
    w_.boundary_of[message] = static_cast<std::uint32_t>(w_.boundaries.size() - 1);
    add_once(boundary.streams, static_cast<std::uint32_t>(stream_slot(graph_.tasks[message])));
  }
}

/// One queue for each stream and each boundary its actions send over, one for those that send
/// nothing.
void ReadySet::find_queues() {
  const std::size_t n = graph_.tasks.size();
  w_.next_choice.assign(n, kNoTask);
  w_.chosen.assign(n, false);
  w_.queue_of.assign(n, 0);
  w_.queues.clear();
  w_.sources.assign(graph_.lanes.size() * kStreams, {{}, {}, kNoTask});
  std::vector<std::uint32_t> sends(n, kNoBoundary);  // by last task of a unit
  for (const TaskId message : w_.arrivals) {
    for (const TaskId d : graph_.dependencies(message)) {
      if (graph_.tasks[d].stream == Stream::Compute) sends[d] = w_.boundary_of[message];
    }
  }
  std::vector<TaskId>& last = w_.stack;
  last.assign(graph_.lanes.size() * kStreams, kNoTask);
  for (TaskId t = 0; t < n; ++t) {
    const Task& task = graph_.tasks[t];
    if (task.stream == Stream::None || w_.continues[t]) continue;
    const auto slot = static_cast<std::uint32_t>(stream_slot(task));
    Workspace::ReadySources& sources = w_.sources[slot];
    (last[slot] == kNoTask ? sources.head : w_.next_choice[last[slot]]) = t;
    last[slot] = t;
    if (w_.boundary_of[t] != kNoBoundary) {
      add_once(sources.boundaries, w_.boundary_of[t]);
      continue;
    }
    TaskId end = t;
    while (w_.unit_next[end] != kNoTask) end = w_.unit_next[end];
    const auto found =
        std::find_if(sources.queues.begin(), sources.queues.end(),
                     [&](std::uint32_t q) { return w_.queues[q].boundary == sends[end]; });
    if (found != sources.queues.end()) {
      w_.queue_of[t] = *found;
      continue;
    }
    w_.queue_of[t] = static_cast<std::uint32_t>(w_.queues.size());
    sources.queues.push_back(w_.queue_of[t]);
    w_.queues.push_back({{}, sends[end]});
    if (sends[end] != kNoBoundary) add_once(w_.boundaries[sends[end]].streams, slot);
  }
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "models/cost/collective.hpp"
#include "sim/network.hpp"

namespace paceline::models {
struct Op;
}

/// Timed work of one step. Every engine takes one; labels are derived, never stored.
namespace paceline::sim {

/// Tasks of one stream of one lane run one after another, in the order they were added.
enum class Stream : std::uint8_t {
  Compute,
  Tp,
  Cp,
  Ep,
  PpDown,
  PpUp,
  PpAll,  ///< collectives over the ranks of a pipeline
  Dp,
  CopyIn,
  CopyOut,
  Host,
  CpOuter,  ///< between the inner groups of context parallelism
  None
};
inline constexpr int kStreams = 13;  ///< None: a join; starts when its dependencies end, at once

enum class TaskKind : std::uint8_t { Action, Kernel, Message, Collective, Optimizer, Host, Join };

/// Where an instant of the critical lane goes. Order = precedence of the report.
enum class Part : std::uint8_t {
  Compute,
  Optimizer,
  Codec,
  ExposedTp,
  ExposedCp,
  ExposedEp,
  ExposedPp,
  ExposedDp,
  Offload,
  Host,
  Straggler,
  Bubble
};
inline constexpr int kParts = 12;
using PartSeconds = std::array<double, kParts>;

enum class MemoryPart : std::uint8_t {
  Parameters,
  Gradients,
  Optimizer,
  Activations,
  Logits,
  WeightVersions,
  Buffers,
  Workspace,
  Runtime
};
inline constexpr int kMemoryParts = 9;

struct MemoryDelta {
  MemoryPart part;
  double bytes;  ///< positive: allocated, negative: freed
};

using TaskId = std::uint32_t;
inline constexpr TaskId kNoTask = 0xffffffffU;
/// The dependencies of a task that waits for `task`, or for nothing when that is kNoTask.
inline std::span<const TaskId> after(const TaskId& task) {
  return {&task, task == kNoTask ? std::size_t{0} : std::size_t{1}};
}

struct Task {
  double seconds = 0;      ///< alone, at full rate
  std::uint32_t lane = 0;  ///< rank class
  /// position in the lane's order, or index of the message or collective
  std::uint32_t origin = 0;
  float slowdown = 1;  ///< rate is 1/slowdown while a communication stream of the lane is active
  Stream stream = Stream::Compute;
  TaskKind kind = TaskKind::Action;
  std::uint16_t segment = 0;  ///< in TaskGraph::segments: breakdown and memory of this kind of work
};
static_assert(sizeof(Task) == 24);

/// A collective inside an action, in seconds from the start of the action.
struct InnerSlice {
  Stream stream = Stream::Tp;
  std::string_view name;  ///< a literal, "all_reduce attention"
  double start = 0, finish = 0;
  double bytes = 0;  ///< sent per rank
};

/// Attention inside a kind of work whose time depends on the documents of a microbatch.
struct AttentionUse {
  std::uint16_t core = 0;  ///< AttentionCore::id
  std::int32_t count = 0;  ///< layers
};

/// What a kind of work is made of: shared by all its tasks.
struct Segment {
  std::string name;                      ///< "F stage 3", "all_reduce dp"
  double seconds = 0;                    ///< duration alone
  PartSeconds parts{};                   ///< adds up to it
  std::array<double, kStreams> bytes{};  ///< sent per rank of the lane, by stream
  double flops = 0;                      ///< matrix operations per rank, recomputation counted
  double matrix_share = 1;               ///< of its compute part: kernels that multiply matrices
  std::vector<MemoryDelta> at_start;     ///< applied when a task of it starts
  std::vector<MemoryDelta> at_finish;
  std::vector<InnerSlice> inner;        ///< by start; only where LowerOptions::inner asks for it
  std::vector<AttentionUse> attention;  ///< only where batches hold documents
};

/// A rank class: one representative stands for all members.
struct Lane {
  int representative = 0;  ///< rank
  std::int64_t members = 1;
  std::vector<MemoryDelta> resident;  ///< held for the whole step
  double host_bytes = 0;              ///< of each member, in host memory or on drives
  std::string title{};  ///< where a graph shows ranks twice, "predicted" and "measured"; else empty
};

/// A message or collective as those who take part see it.
struct Exchange {
  TaskId task = kNoTask;
  models::CollectiveOp op = models::CollectiveOp::SendRecv;
  double bytes = 0;        ///< of a message, or of the full array of a collective
  std::vector<int> ranks;  ///< of a message from the first to the second; else ascending
};

/// `task` starts after `after` has finished.
struct Dependency {
  TaskId task, after;
};

struct TaskGraph {
  std::vector<Lane> lanes;
  std::vector<Segment> segments;
  std::vector<Task> tasks;
  std::vector<std::uint32_t> first_dep;  ///< CSR, size tasks + 1
  std::vector<TaskId> deps;              ///< of task t: deps[first_dep[t] .. first_dep[t+1])
  Network network;                       ///< empty: no task shares a link with another
  /// By segment, where LowerOptions::kernels asks for it: the kernel all its tasks run; null or
  /// beyond the end: none is known, a task only takes its time. And by task what it exchanges.
  std::vector<std::shared_ptr<const models::Op>> kernels;
  std::vector<Exchange> exchanges;
  /// By task, for ready dispatch: messages with the same number to the same lane share receive
  /// buffers; kNoTask: none. May end early.
  std::vector<std::uint32_t> boundaries;

  /// Dependencies may name tasks added later (engines check for cycles); graphs whose dependencies
  /// all name earlier tasks are evaluated fastest.
  TaskId add(const Task& task, std::span<const TaskId> dependencies = {});
  /// More dependencies of tasks that are there already.
  void add_dependencies(std::vector<Dependency> more);
  /// The message is one of those of a boundary.
  void cross(TaskId message, std::uint32_t boundary) {
    if (boundaries.size() <= message) boundaries.resize(message + std::size_t{1}, kNoTask);
    boundaries[message] = boundary;
  }
  std::uint32_t boundary(TaskId t) const { return t < boundaries.size() ? boundaries[t] : kNoTask; }
  void reserve(std::size_t task_count, std::size_t dependency_count);
  void clear();  ///< keeps the memory: a graph built again and again allocates once
  std::span<const TaskId> dependencies(TaskId t) const {
    return {deps.data() + first_dep[t], deps.data() + first_dep[t + 1]};
  }
};

/// When everything happened.
struct Timeline {
  std::vector<double> start, finish;  ///< by task, seconds
  double makespan = 0;
};

}  // namespace paceline::sim

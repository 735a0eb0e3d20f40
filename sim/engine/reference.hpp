// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/scenario/schedule_choice.hpp"
#include "sim/engine/overlap.hpp"
#include "sim/task_graph.hpp"

/// The reference engine: exact, deterministic, no shared resources.
namespace paceline::sim {

struct EngineOptions {
  /// Fixed: the tasks of a stream run in the order they were added; a stream waits for its head.
  /// Ready: a free stream takes, of its tasks whose dependencies have finished, the one added
  /// first (ready_set.hpp).
  models::Dispatch dispatch = models::Dispatch::Fixed;
  int buffers = 0;          ///< Ready: messages a boundary holds; 0: any number
  double coordination = 0;  ///< Ready: seconds before each action that a lane chooses
};

/// Memory of an evaluation. Reused over evaluations it stops allocating. Between calls only
/// `timeline`, the last answer, means anything.
struct Workspace {
  Timeline timeline;
  std::vector<double> stream_end;  ///< by lane and stream

  std::vector<TaskId> previous;  ///< on the same stream; graphs added out of order only
  std::vector<TaskId> stack;

  /// The task may finish at `time`, unless the overlap state of its lane has changed since.
  struct Event {
    double time;
    TaskId task;
    std::uint32_t version;
  };
  struct StreamState {
    bool busy = false;
    bool listed = false;
    std::vector<TaskId> ready;  ///< min-heap
  };
  struct LaneState {
    std::uint32_t communicating = 0;  ///< tasks running on communication streams
    std::uint32_t version = 0;
    TaskId running = 0;  ///< the compute task that feels overlap, if `occupied`
    bool occupied = false;
    Progress progress;
  };
  /// Ready dispatch with bounded buffers: actions that wait to be chosen.
  struct ReadyQueue {
    std::vector<TaskId> heap;    ///< min-heap
    std::uint32_t boundary = 0;  ///< their messages go over it; kNoBoundary: they send none
  };
  /// Where the messages of one pass reach one stage.
  struct Boundary {
    std::uint32_t first = 0, count = 0;  ///< its messages, in `arrivals`
    std::uint32_t sent = 0;              ///< of them, those that have started
    std::uint32_t taken = 0;             ///< those whose receiving action has started
    std::int64_t made = 0;               ///< actions chosen that send over it
    std::vector<std::uint32_t> streams;  ///< that send over it or make what is sent
  };
  struct ReadySources {
    std::vector<std::uint32_t> queues, boundaries;
    TaskId head = 0;  ///< the first not chosen yet; kNoTask: none
  };
  static constexpr std::uint32_t kNoBoundary = 0xffffffffU;

  std::vector<std::uint32_t> first_successor;  ///< CSR; event queue only, as all below
  std::vector<TaskId> successors;
  std::vector<std::uint32_t> pending;  ///< unfinished predecessors
  std::vector<Event> events;           ///< min-heap
  std::vector<StreamState> streams;    ///< by lane and stream
  std::vector<std::uint32_t> listed;   ///< streams to look at before time moves on
  std::vector<LaneState> lanes;
  std::vector<TaskId> unit_next;  ///< Ready: what follows in the unit; kNoTask: nothing
  std::vector<bool> continues;    ///< Ready: a task that is not the first of its unit
  // Ready with bounded buffers:
  std::vector<TaskId> next_choice;         ///< the next task to choose on the same stream
  std::vector<bool> chosen;                ///< by task
  std::vector<std::uint32_t> boundary_of;  ///< by message; kNoBoundary for other tasks
  std::vector<TaskId> receiver;            ///< by message
  std::vector<TaskId> arrivals;            ///< messages by boundary, in the receiver's order
  std::vector<std::uint32_t> queue_of;     ///< by task
  std::vector<ReadyQueue> queues;
  std::vector<Boundary> boundaries;
  std::vector<ReadySources> sources;  ///< by lane and stream
};

/// When every task starts and ends. A task starts when its dependencies and its predecessor on the
/// same stream of the same lane have finished; sim/engine/overlap.hpp says how fast it runs.
/// Throws base::Error naming the tasks when the graph has a cycle, a dependency, lane or stream
/// that does not exist, or a time that is not a finite number >= 0.
const Timeline& run_reference(const TaskGraph& graph, Workspace& workspace,
                              const EngineOptions& options = {});
Timeline run_reference(const TaskGraph& graph, const EngineOptions& options = {});

}  // namespace paceline::sim

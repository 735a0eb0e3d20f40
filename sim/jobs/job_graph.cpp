// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_graph.hpp"

#include <algorithm>
#include <array>

#include "models/scenario/schedule_choice.hpp"
#include "sim/placement.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim::jobs {
namespace {

/// Seconds of a pass on a stage; the halves of a split backward take half each.
double pass_seconds(const Pass& pass, double forward, double backward) {
  if (pass.name == "F") return forward;
  if (pass.name == "BW") return backward;
  return backward / 2;  // B or W
}

bool known_pass(const Pass& pass) {
  constexpr std::array<std::string_view, 4> kKnown{"F", "BW", "B", "W"};
  return std::find(kKnown.begin(), kKnown.end(), pass.name) != kKnown.end();
}

PipelineShape job_shape(const models::JobKind& kind, int stages, int microbatches) {
  PipelineShape shape;
  shape.ranks = stages;
  shape.microbatches = microbatches;
  if (!find_schedule(kind.schedule, kind.where).uses_times) return shape;
  for (int s = 0; s < stages; ++s) {
    const base::Seconds half = stage_backward(kind, s, stages) / 2;
    shape.times.stages.push_back({stage_forward(kind, s, stages), half, half, {}});
  }
  return shape;
}

/// Lowers a Program whose stage r lives on rank r, action by action in an order in which everything
/// needed is there. What `timed` (sim/lower/uniform.hpp) makes of it in general, without messages
/// where nothing has to be sent.
class JobGraphBuilder {
 public:
  JobGraphBuilder(const models::JobKind& kind, const Program& program, const std::vector<Hop>& hops,
                  TaskGraph& graph)
      : program_(program), hops_(hops), graph_(graph), ranks_(program.order.size()) {
    const auto count = static_cast<std::size_t>(program.microbatches) * ranks_;
    down_.assign(count, kNoTask);
    up_.assign(count, kNoTask);
    next_.assign(ranks_, 0);
    graph_.clear();
    graph_.reserve(2 * count, 2 * count);
    graph_.segments.resize(1);
    const int stages = static_cast<int>(ranks_);
    for (int s = 0; s < stages; ++s) {
      graph_.lanes.push_back({s, 1, {}});
      for (const Pass& pass : program.passes)
        seconds_.push_back(pass_seconds(pass, stage_forward(kind, s, stages).value,
                                        stage_backward(kind, s, stages).value));
    }
  }

  /// Sweeps down and up the ranks as long as one of them gets on.
  void build() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < ranks_; ++r) moved |= advance(r);
      for (std::size_t r = ranks_; r-- > 0;) moved |= advance(r);
    }
    for (std::size_t r = 0; r < ranks_; ++r) PACELINE_CHECK(next_[r] == program_.order[r].size());
  }

 private:
  TaskId& sent(std::vector<TaskId>& table, std::size_t rank, std::int32_t microbatch) {
    return table[static_cast<std::size_t>(microbatch) * ranks_ + rank];
  }

  bool advance(std::size_t rank) {
    bool moved = false;
    const std::vector<Action>& order = program_.order[rank];
    while (next_[rank] < order.size()) {
      const Action& action = order[next_[rank]];
      const Direction direction = program_.passes[action.pass].direction;
      TaskId need = kNoTask;
      const bool from_above = direction == Direction::Down && rank > 0;
      const bool from_below = direction == Direction::Up && rank + 1 < ranks_;
      if (from_above) need = sent(down_, rank - 1, action.microbatch);
      if (from_below) need = sent(up_, rank + 1, action.microbatch);
      if (need == kNoTask && (from_above || from_below)) break;
      add(action, rank, direction, need);
      ++next_[rank];
      moved = true;
    }
    return moved;
  }

  void add(const Action& action, std::size_t rank, Direction direction, TaskId need) {
    Task task;
    task.lane = static_cast<std::uint32_t>(rank);
    task.origin = static_cast<std::uint32_t>(next_[rank]);
    task.seconds = seconds_[rank * program_.passes.size() + action.pass];
    const TaskId made = graph_.add(task, after(need));
    if (direction == Direction::Down && rank + 1 < ranks_)
      sent(down_, rank, action.microbatch) = send(task, Stream::PpDown, hops_[rank], made);
    if (direction == Direction::Up && rank > 0)
      sent(up_, rank, action.microbatch) = send(task, Stream::PpUp, hops_[rank - 1], made);
  }

  /// What has to be waited for on the other side.
  TaskId send(Task task, Stream stream, const Hop& hop, TaskId made) {
    if (hop == Hop{}) return made;
    task.kind = TaskKind::Message;
    task.stream = stream;
    task.seconds = hop.seconds;
    const TaskId message = graph_.add(task, after(made));
    if (!(hop.latency > 0)) return message;
    task.kind = TaskKind::Join;
    task.stream = Stream::None;
    task.seconds = hop.latency;
    return graph_.add(task, after(message));
  }

  const Program& program_;
  const std::vector<Hop>& hops_;
  TaskGraph& graph_;
  std::size_t ranks_;
  std::vector<double> seconds_;    ///< by rank and pass
  std::vector<TaskId> down_, up_;  ///< by microbatch and rank: what the neighbour waits for
  std::vector<std::size_t> next_;  ///< by rank: position in its order
};

}  // namespace

Program job_program(const models::JobKind& kind, int stages) {
  return find_schedule(kind.schedule, kind.where).build(job_shape(kind, stages, kind.microbatches));
}

void job_graph(const models::JobKind& kind, const Program& program, const std::vector<Hop>& hops,
               TaskGraph& graph) {
  PACELINE_CHECK(hops.size() + 1 == program.order.size());
  JobGraphBuilder(kind, program, hops, graph).build();
}

void check_job_schedule(const models::JobKind& kind) {
  constexpr int kStages = 4, kMicrobatches = 8;
  const Schedule& schedule = find_schedule(kind.schedule, kind.where);
  const models::ScheduleTraits* traits = models::schedule_traits(kind.schedule);
  const auto refuse = [&](const std::string& why) {
    throw base::Error(kind.where, "schedule " + std::string(schedule.name) + " " + why,
                      "for example 1f1b or gpipe");
  };
  if (traits->asynchronous) refuse("never flushes: a step of it has no end");
  if (traits->chunks != 1) refuse("has several stages a rank");
  const Program program = schedule.build(job_shape(kind, kStages, kMicrobatches));
  const Placement placement = placement_of(program);
  for (int s = 0; s < program.stages; ++s)
    if (program.stages != kStages || placement.ranks[static_cast<std::size_t>(s)] != std::vector{s})
      refuse("does not run stage r on rank r");
  const bool plain = program.slices == 1 && program.nodes.empty() && !program.pooled &&
                     !program.skips &&
                     std::all_of(program.passes.begin(), program.passes.end(), known_pass);
  if (!plain) refuse("has more than forwards and backwards of whole microbatches");
}

}  // namespace paceline::sim::jobs

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/uniform.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "sim/lower/fences.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

constexpr TaskId kNoMessage = 0xffffffffU;

base::Seconds time_of(const Pass& pass, std::size_t stage, const StageTimes& times) {
  const StageTime& time = times.stages[stage];
  if (pass.name == "F") return time.forward;
  if (pass.name == "B") return time.input_gradient;
  if (pass.name == "W") return time.weight_gradient;
  if (pass.name == "BW") return time.input_gradient + time.weight_gradient;
  for (const PassTime& other : times.others) {
    if (other.pass == pass.name) return other.seconds;
  }
  if (pass.name == "U" || pass.name == "N") return {};
  throw base::Error("program", "pass " + pass.name + " has no stage time",
                    "stage times are given for F, B, W and BW, and others by name");
}

/// Segments in the order (pass, stage), then one for messages down and one for messages up.
void add_segments(const Program& program, const StageTimes& times, TaskGraph& graph) {
  const std::vector<bool> stores = storing_passes(program);
  // What B frees early: only where W frees the rest.
  const bool split =
      std::any_of(program.passes.begin(), program.passes.end(),
                  [](const Pass& pass) { return pass.name == "W" && !pass.frees.empty(); });
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    const Pass& pass = program.passes[i];
    for (std::size_t stage = 0; stage < times.stages.size(); ++stage) {
      const StageTime& time = times.stages[stage];
      Segment segment;
      segment.name = pass.name + " stage " + std::to_string(stage);
      segment.parts[static_cast<std::size_t>(Part::Compute)] = time_of(pass, stage, times).value;
      if (stores[i]) {
        segment.at_start.push_back({MemoryPart::Activations, time.activation.value});
      }
      const double early = split ? time.freed_by_input.value : 0;
      if (pass.name == "B" && early > 0) {
        segment.at_finish.push_back({MemoryPart::Activations, -early});
      }
      for (const std::uint8_t freed : pass.frees) {
        if (!stores[freed]) continue;
        const double left = time.activation.value - (pass.name == "W" ? early : 0);
        segment.at_finish.push_back({MemoryPart::Activations, -left});
      }
      graph.segments.push_back(std::move(segment));
    }
  }
  for (const char* name : {"send down", "send up"}) {
    Segment segment;
    segment.name = name;
    segment.parts[static_cast<std::size_t>(Part::ExposedPp)] = times.hop.value;
    graph.segments.push_back(std::move(segment));
  }
}

/// Adds tasks in execution order and remembers who made what.
class Builder {
 public:
  Builder(const Program& program, const StageTimes& times)
      : program_(program), times_(times), index_(program), fences_(program) {
    if (times.stages.size() != static_cast<std::size_t>(program.stages)) {
      throw base::Error("stage times",
                        std::to_string(times.stages.size()) + " stage times for " +
                            std::to_string(program.stages) + " stages",
                        "one per stage is needed");
    }
    const std::size_t segments = program.passes.size() * times.stages.size() + 2;
    if (segments > 0xffff)
      throw base::Error("stage times", "too many stages and passes", "65533 at most");
    add_segments(program, times, graph_);
    for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
      graph_.lanes.push_back({static_cast<int>(rank), 1, {}});
    }
    made_.resize(index_.keys());
    sends_.assign(index_.keys(), false);
    for (const auto& order : program.order) {
      for (const Action& action : order) {
        const std::optional<Action> from = index_.source(action);
        if (from && rank_of(*from) != rank_of(action)) sends_[index_.key(*from)] = true;
      }
    }
  }

  TaskGraph build() {
    const std::vector<Position> order = execution_order(program_, index_);
    graph_.reserve(2 * order.size(), 3 * order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::vector<Action>& actions = program_.order[static_cast<std::size_t>(order[i].rank)];
      const auto at = static_cast<std::size_t>(order[i].index);
      if (at == 0 || !actions[at - 1].fused) {
        needs_.clear();
        for (std::size_t k = at; add_needs(actions[k]); ++k) {
        }
      }
      add_action(actions[at], order[i]);
    }
    return std::move(graph_);
  }

 private:
  struct Made {
    TaskId task = 0;
    TaskId message = kNoMessage;
  };

  std::int32_t rank_of(const Action& action) const { return index_.position(action).rank; }

  /// Returns whether another action is fused to it.
  bool add_needs(const Action& action) {
    const std::int32_t rank = rank_of(action);
    index_.for_each_need(action, [&](const Action& need) {
      const Made& made = made_[index_.key(need)];
      const bool remote = rank_of(need) != rank && made.message != kNoMessage;
      needs_.push_back(remote ? made.message : made.task);
    });
    return action.fused;
  }

  void add_action(const Action& action, Position at) {
    Task task;
    const auto stage = static_cast<std::size_t>(action.stage);
    const Pass& pass = program_.passes[action.pass];
    task.seconds = time_of(pass, stage, times_).value;
    task.lane = static_cast<std::uint32_t>(at.rank);
    task.origin = static_cast<std::uint32_t>(at.index);
    task.segment = static_cast<std::uint16_t>(action.pass * times_.stages.size() + stage);
    Made& made = made_[index_.key(action)];
    if (at.index > 0) {
      const auto rank = static_cast<std::size_t>(at.rank);
      const Action& before = program_.order[rank][static_cast<std::size_t>(at.index) - 1];
      if (before.fused) needs_.push_back(made_[index_.key(before)].task);
    }
    fences_.add_needs(action, at.rank, needs_);
    made.task = graph_.add(task, needs_);
    fences_.added(action, at.rank, made.task);
    needs_.clear();
    if (!sends_[index_.key(action)]) return;
    const bool down = pass.direction == Direction::Down;
    task.seconds = times_.hop.value;
    task.stream = down ? Stream::PpDown : Stream::PpUp;
    task.kind = TaskKind::Message;
    task.segment = static_cast<std::uint16_t>(graph_.segments.size() - (down ? 2 : 1));
    made.message = graph_.add(task, std::span(&made.task, 1));
    graph_.cross(made.message, action.pass * static_cast<std::uint32_t>(times_.stages.size()) +
                                   static_cast<std::uint32_t>(stage));
  }

  const Program& program_;
  const StageTimes& times_;
  const ActionIndex index_;
  StageFences fences_;
  TaskGraph graph_;
  std::vector<Made> made_;     ///< by action
  std::vector<bool> sends_;    ///< by action: its output leaves the rank
  std::vector<TaskId> needs_;  ///< of the group at hand
};

}  // namespace

StageTimes uniform_times(int stages, const StageTime& time, base::Seconds hop) {
  return {std::vector<StageTime>(static_cast<std::size_t>(stages), time), hop};
}

TaskGraph timed(const Program& program, const StageTimes& times) {
  return Builder(program, times).build();
}

}  // namespace paceline::sim

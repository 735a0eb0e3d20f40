// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/uniform.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "sim/lower/copy_updates.hpp"
#include "sim/lower/fences.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

constexpr TaskId kNoMessage = 0xffffffffU;

/// Of F, R (the forward again), B, W and BW; updates U and norms N take none.
std::optional<base::Seconds> own_time(const Pass& pass, const StageTime& time) {
  if (pass.name == "F" || pass.name == "R") return time.forward;
  if (pass.name == "B") return time.input_gradient;
  if (pass.name == "W") return time.weight_gradient;
  if (pass.name == "BW") return time.input_gradient + time.weight_gradient;
  if (pass.name == "U" || pass.name == "N") return base::Seconds();
  return std::nullopt;
}

/// Seconds of every action; checks once that there is a time for each pass.
class Durations {
 public:
  Durations(const Program& program, const StageTimes& times)
      : times_(times), slices_(static_cast<std::size_t>(program.slices)) {
    check_slices();
    for (const Pass& pass : program.passes) {
      table_.push_back(nullptr);
      for (const PassTimes& other : times.others) {
        if (other.pass == pass.name) table_.back() = &other;
      }
      if (table_.back() != nullptr || own_time(pass, {})) continue;
      throw base::Error("program", "pass " + pass.name + " has no stage time",
                        "stage times are given for F, R, B, W and BW" + known_others());
    }
  }

  /// What a microbatch of slices of scale 1 takes; of passes with a time per action the first.
  double of_stage(const Program& program, std::size_t pass, std::size_t stage) const {
    const PassTimes* table = table_[pass];
    if (table == nullptr) return own_time(program.passes[pass], times_.stages[stage])->value;
    const auto given = times_on(*table, stage);
    return given.empty() ? 0 : given[0].value;
  }

  /// The same for one action, `stage_seconds` being of_stage().
  double of_action(const Action& action, double stage_seconds) const {
    const PassTimes* table = table_[action.pass];
    const auto slice = static_cast<std::size_t>(action.slice);
    if (table == nullptr) {
      return times_.slice_scale.empty() ? stage_seconds : stage_seconds * times_.slice_scale[slice];
    }
    const auto given = times_on(*table, static_cast<std::size_t>(action.stage));
    if (given.size() == 1) return stage_seconds;
    const std::size_t at = static_cast<std::size_t>(action.microbatch) * slices_ + slice;
    if (at < given.size()) return given[at].value;
    throw base::Error("stage times",
                      "pass " + table->pass + " of stage " + std::to_string(action.stage) +
                          " has " + std::to_string(given.size()) +
                          " times, too few for microbatch " + std::to_string(action.microbatch));
  }

 private:
  static std::span<const base::Seconds> times_on(const PassTimes& table, std::size_t stage) {
    if (table.seconds.size() == 1) stage = 0;
    if (stage >= table.seconds.size()) return {};
    return table.seconds[stage];
  }
  void check_slices() const {
    const std::size_t given = times_.slice_scale.size();
    if (given == 0 || given == slices_) return;
    throw base::Error(
        "stage times",
        std::to_string(given) + " slice factors for " + std::to_string(slices_) + " slices",
        "one per slice, or none, is needed");
  }
  std::string known_others() const {
    std::string text;
    for (const PassTimes& other : times_.others) text += ", here also for " + other.pass;
    return text;
  }

  const StageTimes& times_;
  std::size_t slices_;
  std::vector<const PassTimes*> table_;  ///< by pass: null where StageTime says it
};

/// Segments in the order (pass, stage), then one for messages down and one for messages up.
void add_segments(const Program& program, const StageTimes& times, const Durations& durations,
                  TaskGraph& graph) {
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
      segment.parts[static_cast<std::size_t>(Part::Compute)] =
          durations.of_stage(program, i, stage);
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
      : program_(program),
        times_(times),
        durations_(program, times),
        index_(program),
        fences_(program),
        copy_updates_(static_cast<std::size_t>(program.stages)) {
    if (times.stages.size() != static_cast<std::size_t>(program.stages)) {
      throw base::Error("stage times",
                        std::to_string(times.stages.size()) + " stage times for " +
                            std::to_string(program.stages) + " stages",
                        "one per stage is needed");
    }
    const std::size_t segments = program.passes.size() * times.stages.size() + 2;
    if (segments > 0xffff)
      throw base::Error("stage times", "too many stages and passes", "65533 at most");
    add_segments(program, times, durations_, graph_);
    for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
      graph_.lanes.push_back({static_cast<int>(rank), 1, {}});
    }
    made_.resize(index_.keys());
    sends_.assign(index_.keys(), false);
    for (const auto& order : program.order) {
      for (const Action& action : order) {
        index_.for_each_need(action, [&](const Action& need) {
          if (rank_of(need) != rank_of(action)) sends_[index_.key(need)] = true;
        });
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
    copy_updates_.join(graph_);
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
    task.lane = static_cast<std::uint32_t>(at.rank);
    task.origin = static_cast<std::uint32_t>(at.index);
    task.segment = static_cast<std::uint16_t>(action.pass * times_.stages.size() + stage);
    const PartSeconds& parts = graph_.segments[task.segment].parts;
    task.seconds = durations_.of_action(action, parts[static_cast<std::size_t>(Part::Compute)]);
    Made& made = made_[index_.key(action)];
    if (at.index > 0) {
      const auto rank = static_cast<std::size_t>(at.rank);
      const Action& before = program_.order[rank][static_cast<std::size_t>(at.index) - 1];
      if (before.fused) needs_.push_back(made_[index_.key(before)].task);
    }
    fences_.add_needs(action, at.rank, needs_);
    made.task = graph_.add(task, needs_);
    if (side_of(pass.name) == SidePass::Update)
      copy_updates_.added(action.stage, at.rank, made.task, needs_);
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
  const Durations durations_;
  const ActionIndex index_;
  StageFences fences_;
  CopyUpdates copy_updates_;
  TaskGraph graph_;
  std::vector<Made> made_;     ///< by action
  std::vector<bool> sends_;    ///< by action: its output leaves the rank
  std::vector<TaskId> needs_;  ///< of the group at hand
};

}  // namespace

bool stage_time_covers(const Pass& pass) { return own_time(pass, {}).has_value(); }

StageTimes uniform_times(int stages, const StageTime& time, base::Seconds hop) {
  return {std::vector<StageTime>(static_cast<std::size_t>(stages), time), hop};
}

TaskGraph timed(const Program& program, const StageTimes& times) {
  return Builder(program, times).build();
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/chunks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "sim/lower/rings.hpp"
#include "sim/lower/stage_work.hpp"

namespace paceline::sim {
namespace {

using models::CollectiveOp;

/// A group as the steps need it.
struct Group {
  int members = 1;
  int own = 0;                            ///< the lane's representative
  std::vector<std::vector<int>> senders;  ///< by member: who sends to it
};

Group make_group(const models::Cluster& cluster, int device,
                 const std::vector<models::Axis>& axes) {
  const std::vector<int> devices = members_of(device, axes);
  const auto index = [&](int d) {
    return static_cast<int>(std::lower_bound(devices.begin(), devices.end(), d) - devices.begin());
  };
  Group group;
  group.members = static_cast<int>(devices.size());
  group.own = index(device);
  group.senders.resize(devices.size());
  for (const RingHop& hop : ring_hops(cluster, devices)) {
    group.senders[static_cast<std::size_t>(index(hop.to))].push_back(index(hop.from));
  }
  return group;
}

/// Steps of a ring over the group.
int steps_of(CollectiveOp op, int members) {
  return (op == CollectiveOp::AllReduce ? 2 : 1) * (members - 1);
}

struct StepSegments {
  std::uint16_t own = 0, other = 0;  ///< of the representative, of other members
  std::uint16_t ends = 0;            ///< of the tasks that begin and end a collective
};

class Expander {
 public:
  Expander(TaskGraph& graph, const models::Scenario& scenario, std::vector<NetworkTask> tasks)
      : old_(graph), cluster_(scenario.cluster), tasks_(std::move(tasks)) {}

  ChunkedTasks run() {
    choose();
    if (chunked_ == 0) return {std::move(tasks_), std::move(assumptions_)};
    new_.lanes = std::move(old_.lanes);
    new_.segments = std::move(old_.segments);
    const auto added = static_cast<std::size_t>(messages_);
    new_.reserve(old_.tasks.size() + added, old_.deps.size() + 3 * added);
    renamed_.resize(old_.tasks.size());
    for (TaskId t = 0; t < old_.tasks.size(); ++t) copy(t);
    old_ = std::move(new_);
    return {std::move(noted_), std::move(assumptions_)};
  }

 private:
  /// Marks what becomes messages.
  void choose() {
    note_of_.assign(old_.tasks.size(), nullptr);
    expands_.assign(old_.tasks.size(), 0);
    std::int64_t collectives = 0, wide = 0, other = 0;
    for (const NetworkTask& note : tasks_) {
      note_of_[note.task] = &note;
      if (note.axes == nullptr || note.size <= 0 || note.fluid <= 0) continue;
      const Group& group = group_of(note);
      if (group.members < 2) continue;
      ++collectives;
      if (note.algorithm != models::CollectiveAlgorithm::Ring) {
        ++other;
      } else if (group.members > kMaxChunkMembers) {
        ++wide;
      } else {
        expands_[note.task] = 1;
        ++chunked_;
        messages_ += std::int64_t{steps_of(note.op, group.members)} * group.members;
      }
    }
    explain(collectives, wide, "of more than " + std::to_string(kMaxChunkMembers) + " ranks");
    explain(collectives, other, "not run as rings");
    if (messages_ <= kMaxChunkTasks) return;
    explain(collectives, chunked_,
            "of " + std::to_string(messages_) + " messages together, more than " +
                std::to_string(kMaxChunkTasks));
    chunked_ = 0;
  }

  void explain(std::int64_t all, std::int64_t fluid, const std::string& reason) {
    if (fluid == 0) return;
    assumptions_.push_back("fidelity chunk: " + std::to_string(fluid) + " of " +
                           std::to_string(all) + " data-parallel collectives, " + reason +
                           ", stay fluid");
  }

  const Group& group_of(const NetworkTask& note) {
    const std::uint32_t lane = old_.tasks[note.task].lane;
    const auto [found, fresh] = groups_.try_emplace({lane, note.axes});
    if (fresh) {
      const auto& lanes = old_.lanes.empty() ? new_.lanes : old_.lanes;
      found->second = make_group(cluster_, lanes[lane].representative, *note.axes);
    }
    return found->second;
  }

  void copy(TaskId t) {
    deps_.clear();
    for (const TaskId d : old_.dependencies(t)) {
      PACELINE_CHECK(d < t);
      deps_.push_back(renamed_[d]);
    }
    if (expands_[t] != 0) {
      renamed_[t] = expand(old_.tasks[t], *note_of_[t]);
      return;
    }
    renamed_[t] = new_.add(old_.tasks[t], deps_);
    if (old_.boundary(t) != kNoTask) new_.cross(renamed_[t], old_.boundary(t));
    if (note_of_[t] == nullptr) return;
    noted_.push_back(*note_of_[t]);
    noted_.back().task = renamed_[t];
  }

  /// Begin, steps, end; returns the end.
  TaskId expand(const Task& task, const NetworkTask& note) {
    const Group& group = group_of(note);
    const int steps = steps_of(note.op, group.members);
    const StepSegments segments = step_segments(task.segment, steps);
    Task end = task;
    end.segment = segments.ends;
    end.seconds = 0;
    const TaskId begin = new_.add(end, deps_);
    std::vector<TaskId> before(static_cast<std::size_t>(group.members), begin), now = before;
    for (int k = 0; k < steps; ++k) {
      for (int m = 0; m < group.members; ++m) {
        const auto i = static_cast<std::size_t>(m);
        deps_.assign(1, before[i]);
        for (const int sender : group.senders[i]) {
          if (k > 0) deps_.push_back(before[static_cast<std::size_t>(sender)]);
        }
        now[i] = add_step(task, note, m, steps, m == group.own, segments);
      }
      before = now;
    }
    return new_.add(end, before);
  }

  TaskId add_step(const Task& task, const NetworkTask& note, int member, int steps, bool own,
                  const StepSegments& segments) {
    Task step = task;
    step.seconds = task.seconds / steps;
    step.segment = own ? segments.own : segments.other;
    if (!own) step.stream = Stream::None;
    NetworkTask noted = note;
    noted.task = new_.add(step, deps_);
    noted.fluid = note.fluid / steps;
    noted.steps = steps;
    noted.member = member;
    noted_.push_back(noted);
    return noted.task;
  }

  StepSegments step_segments(std::uint16_t whole, int steps) {
    const auto [found, fresh] = segments_.try_emplace(whole);
    if (!fresh) return found->second;
    PassCost cost;
    const Segment from = new_.segments[whole];
    found->second.ends = add_segment(new_, from.name + " ends", cost);
    cost.seconds = from.seconds / steps;
    for (std::size_t i = 0; i < cost.parts.size(); ++i) cost.parts[i] = from.parts[i] / steps;
    found->second.other = add_segment(new_, from.name + " step of another rank", cost);
    for (std::size_t i = 0; i < cost.bytes.size(); ++i) cost.bytes[i] = from.bytes[i] / steps;
    found->second.own = add_segment(new_, from.name + " step", cost);
    return found->second;
  }

  TaskGraph& old_;
  TaskGraph new_;
  const models::Cluster& cluster_;
  std::vector<NetworkTask> tasks_, noted_;
  std::vector<const NetworkTask*> note_of_;  ///< by old task
  std::vector<char> expands_;                ///< by old task
  std::int64_t chunked_ = 0, messages_ = 0;
  std::map<std::pair<std::uint32_t, const std::vector<models::Axis>*>, Group> groups_;
  std::map<std::uint16_t, StepSegments> segments_;  ///< by whole collective
  std::vector<TaskId> renamed_, deps_;
  std::vector<std::string> assumptions_;
};

}  // namespace

ChunkedTasks expand_chunks(TaskGraph& graph, const models::Scenario& scenario,
                           std::vector<NetworkTask> tasks) {
  return Expander(graph, scenario, std::move(tasks)).run();
}

}  // namespace paceline::sim

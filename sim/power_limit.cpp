// SPDX-License-Identifier: Apache-2.0
#include "sim/power_limit.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "models/energy/power_cap.hpp"
#include "sim/energy.hpp"

namespace paceline::sim {
namespace {

using models::Device;
using models::PowerClass;
using models::PowerRange;

const Device& device_of(const models::Scenario& s, const Lane& lane) {
  return s.cluster.groups[s.cluster.place_of(lane.representative).group].device;
}

/// Mean power of a device while it does something.
double busy_watts(const Device& device, const ClassSeconds& seconds) {
  double joules = 0, time = 0;
  for (std::size_t c = 0; c < seconds.size(); ++c) {
    const auto power = static_cast<PowerClass>(c);
    if (power == PowerClass::Idle) continue;
    joules += models::device_power(device, power).middle * seconds[c];
    time += seconds[c];
  }
  return time > 0 ? joules / time : 0;
}

}  // namespace

namespace {

/// By node group: what its rank class that draws most does while it is busy, at the clocks set.
std::vector<ClassSeconds> busiest(models::Scenario s) {
  // Only the timeline is looked at: what is worked out from it can wait.
  s.failures.reset();
  s.outer.reset();
  s.jitter.reset();
  s.prices.reset();
  const Prediction p = predict(s);
  const auto seconds = class_seconds(p.graph, p.timeline, 0, p.timeline.makespan);
  std::vector<ClassSeconds> most(s.cluster.groups.size(), ClassSeconds{});
  for (std::size_t lane = 0; lane < p.graph.lanes.size(); ++lane) {
    const Device& device = device_of(s, p.graph.lanes[lane]);
    ClassSeconds& of = most[s.cluster.place_of(p.graph.lanes[lane].representative).group];
    if (busy_watts(device, seconds[lane]) > busy_watts(device, of)) of = seconds[lane];
  }
  return most;
}

/// The highest clock at which that draws the cap at most; matrix kernels take the longer the lower
/// it is.
double clock_at_cap(Device device, const ClassSeconds& seconds, double cap) {
  const double now = device.clock;
  const auto watts = [&](double clock) {
    ClassSeconds at = seconds;
    at[static_cast<std::size_t>(PowerClass::Matrix)] *= now / clock;
    device.clock = clock;
    return busy_watts(device, at);
  };
  return models::highest_clock(watts, cap);
}

}  // namespace

models::Scenario under_power_cap(const models::Scenario& scenario) {
  models::Scenario capped = scenario;
  const double cap = scenario.power->cap->value;
  capped.power.reset();
  constexpr int kRounds = 3;  // what a step does at a clock differs a little from what was assumed
  std::vector<double> free;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<ClassSeconds> most = busiest(capped);
    for (std::size_t g = 0; g < most.size(); ++g) {
      Device& device = capped.cluster.groups[g].device;
      if (round == 0) free.push_back(busy_watts(device, most[g]));
      device.clock = clock_at_cap(device, most[g], cap);
    }
  }
  for (std::size_t g = 0; g < free.size(); ++g) {
    const Device& device = capped.cluster.groups[g].device;
    if (free[g] <= 0) continue;
    capped.assumptions.push_back(
        "under " + base::format_fixed(cap, 0) + " W " + device.name + " runs at " +
        base::format_percent(device.clock) + " of its clock (it draws " +
        base::format_fixed(free[g], 0) +
        " W while busy; law of caps measured on V100 to RTX 6000, nothing newer)");
  }
  capped.power = scenario.power;
  capped.power->cap.reset();
  return capped;
}

namespace {

/// The longest way through every task.
std::vector<double> longest_ways(const TaskGraph& graph, const Timeline& timeline) {
  const std::size_t count = graph.tasks.size();
  std::vector<TaskId> order(count), previous(count, kNoTask);
  std::iota(order.begin(), order.end(), TaskId{0});
  std::vector<TaskId> last(graph.lanes.size() * kStreams, kNoTask);
  for (TaskId t = 0; t < count; ++t) {
    if (graph.tasks[t].stream == Stream::None) continue;
    TaskId& before = last[graph.tasks[t].lane * std::size_t{kStreams} +
                          static_cast<std::size_t>(graph.tasks[t].stream)];
    previous[t] = std::exchange(before, t);
  }
  std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) {
    return std::tuple(timeline.finish[a], timeline.start[a], a) <
           std::tuple(timeline.finish[b], timeline.start[b], b);
  });
  const auto before = [&](TaskId t, const auto& each) {
    for (const TaskId dep : graph.dependencies(t)) each(dep);
    if (previous[t] != kNoTask) each(previous[t]);
  };
  const auto length = [&](TaskId t) { return timeline.finish[t] - timeline.start[t]; };
  std::vector<double> head(count, 0.0), tail(count, 0.0);
  for (const TaskId t : order) {
    before(t, [&](TaskId p) { head[t] = std::max(head[t], head[p]); });
    head[t] += length(t);
  }
  for (auto t = order.rbegin(); t != order.rend(); ++t)
    before(*t, [&](TaskId p) { tail[p] = std::max(tail[p], tail[*t] + length(*t)); });
  for (TaskId t = 0; t < count; ++t) head[t] += tail[t];
  return head;
}

/// Share of a pass's time that follows the clock.
double clock_share(const Segment& segment) {
  const double all = std::accumulate(segment.parts.begin(), segment.parts.end(), 0.0);
  const double compute = segment.parts[static_cast<std::size_t>(Part::Compute)];
  return segment.matrix_share * (all > 0 ? compute / all : 1);
}

/// J that a device saves when a pass of so many seconds runs at a clock.
PowerRange saved_by(const Device& full, double seconds, double share, double clock) {
  Device slow = full;
  slow.clock = full.clock * clock;
  const auto watts = [](const Device& d, PowerClass c) { return models::device_power(d, c); };
  const PowerRange matrix = watts(full, PowerClass::Matrix),
                   memory = watts(full, PowerClass::Memory), idle = watts(full, PowerClass::Idle),
                   m = watts(slow, PowerClass::Matrix), b = watts(slow, PowerClass::Memory);
  const double fast = share * seconds, rest = seconds - fast, more = fast / clock - fast;
  const auto joules = [&](double PowerRange::*at) {
    return fast * matrix.*at + rest * memory.*at + more * idle.*at - fast / clock * m.*at -
           rest * b.*at;
  };
  return {joules(&PowerRange::low), joules(&PowerRange::middle), joules(&PowerRange::high)};
}

bool may_slow(const Task& task) {
  return task.stream == Stream::Compute && task.kind == TaskKind::Action && task.seconds > 0;
}

}  // namespace

SlackClocks slack_clocks(const models::Scenario& s, const TaskGraph& graph,
                         const EngineOptions& engine) {
  Workspace workspace;
  const Timeline fast = run_reference(graph, workspace, engine);
  const std::vector<double> ways = longest_ways(graph, fast);
  std::vector<double> clock(graph.tasks.size(), 1.0);
  for (TaskId t = 0; t < clock.size(); ++t) {
    if (may_slow(graph.tasks[t]))
      clock[t] = std::clamp(ways[t] / fast.makespan, models::kClockShares.floor, 1.0);
  }
  constexpr double kRounding = 1e-9;
  constexpr int kTries = 12;
  TaskGraph slow = graph;
  for (int i = 0; i < kTries; ++i) {
    for (TaskId t = 0; t < clock.size(); ++t) {
      clock[t] = i == 0 ? clock[t] : (1 + clock[t]) / 2;
      const double share = clock_share(graph.segments[graph.tasks[t].segment]);
      if (clock[t] < 1)
        slow.tasks[t].seconds = graph.tasks[t].seconds * (1 - share + share / clock[t]);
    }
    if (run_reference(slow, workspace, engine).makespan <= fast.makespan * (1 + kRounding)) break;
    if (i + 1 == kTries) std::fill(clock.begin(), clock.end(), 1.0);
  }
  SlackClocks result;
  std::vector<double> weighted(graph.lanes.size(), 0.0), time(graph.lanes.size(), 0.0);
  result.joules.assign(graph.lanes.size(), 0.0);
  for (TaskId t = 0; t < clock.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (!may_slow(task)) continue;
    const double share = clock_share(graph.segments[task.segment]);
    const Lane& lane = graph.lanes[task.lane];
    const PowerRange saved = saved_by(device_of(s, lane), task.seconds, share, clock[t]);
    const bool worth = clock[t] < 1 && saved.middle > 0;
    weighted[task.lane] += task.seconds * (worth ? clock[t] : 1);
    time[task.lane] += task.seconds;
    if (!worth) continue;
    result.joules[task.lane] += saved.middle;
    const auto members = static_cast<double>(lane.members);
    result.saved.low += members * saved.low;
    result.saved.middle += members * saved.middle;
    result.saved.high += members * saved.high;
  }
  for (std::size_t lane = 0; lane < time.size(); ++lane)
    result.clock.push_back(time[lane] > 0 ? weighted[lane] / time[lane] : 1);
  return result;
}

void take_slack(SlackClocks slack, double step_seconds, Energy& e) {
  for (PowerRange* sum : {&e.step, &e.by_class[static_cast<std::size_t>(PowerClass::Matrix)]}) {
    sum->low -= slack.saved.low;
    sum->middle -= slack.saved.middle;
    sum->high -= slack.saved.high;
  }
  for (std::size_t lane = 0; lane < e.watts.size(); ++lane)
    e.watts[lane] -= slack.joules[lane] / step_seconds;
  e.slack = std::move(slack);
}

}  // namespace paceline::sim

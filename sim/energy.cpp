// SPDX-License-Identifier: Apache-2.0
#include "sim/energy.hpp"

#include <algorithm>

namespace paceline::sim {
namespace {

using models::PowerClass;
using models::PowerRange;

double& at(ClassSeconds& seconds, PowerClass power) {
  return seconds[static_cast<std::size_t>(power)];
}

/// What a part of a segment counts as; compute is told apart by the segment's share.
PowerClass class_of(Part part) {
  switch (part) {
    case Part::Compute:
      return PowerClass::Matrix;
    case Part::Optimizer:
    case Part::Codec:
      return PowerClass::Memory;
    case Part::Host:
    case Part::Straggler:
    case Part::Bubble:
      return PowerClass::Idle;
    default:
      return PowerClass::Communication;
  }
}

/// Time of a task on the compute stream, by class.
void add_kernel_time(const Segment& segment, double seconds, ClassSeconds& to) {
  double sum = 0;
  for (const double part : segment.parts) sum += part;
  const auto compute = [&](double time) {
    at(to, PowerClass::Matrix) += time * segment.matrix_share;
    at(to, PowerClass::Memory) += time * (1 - segment.matrix_share);
  };
  if (sum <= 0) {
    compute(seconds);
    return;
  }
  for (std::size_t i = 0; i < segment.parts.size(); ++i) {
    const double time = segment.parts[i] / sum * seconds;
    const PowerClass power = class_of(static_cast<Part>(i));
    if (power == PowerClass::Matrix) {
      compute(time);
    } else {
      at(to, power) += time;
    }
  }
}

struct Interval {
  double begin, end;
};

/// Length of the union of `some` outside the union of `others`.
double outside(std::vector<Interval>& some, std::vector<Interval>& others) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  std::sort(some.begin(), some.end(), earlier);
  std::sort(others.begin(), others.end(), earlier);
  double length = 0, covered = -1;
  std::size_t next = 0;
  for (const Interval& one : some) {
    double begin = std::max(one.begin, covered);
    covered = std::max(covered, one.end);
    while (next < others.size() && others[next].end <= begin) ++next;
    for (std::size_t k = next; begin < one.end; ++k) {
      if (k >= others.size() || others[k].begin >= one.end) {
        length += one.end - begin;
        break;
      }
      length += std::max(0.0, others[k].begin - begin);
      begin = std::max(begin, others[k].end);
    }
  }
  return length;
}

PowerRange& operator+=(PowerRange& sum, const PowerRange& more) {
  sum.low += more.low;
  sum.middle += more.middle;
  sum.high += more.high;
  return sum;
}
PowerRange operator*(const PowerRange& range, double k) {
  return {range.low * k, range.middle * k, range.high * k};
}

/// Work as often as `work` says, and idle for the rest of the span.
void fill_span(ClassSeconds& seconds, double whole, double work) {
  double busy = 0;
  for (std::size_t c = 0; c < seconds.size(); ++c) {
    if (static_cast<PowerClass>(c) == PowerClass::Idle) continue;
    seconds[c] *= work;
    busy += seconds[c];
  }
  at(seconds, PowerClass::Idle) = std::max(0.0, whole - busy);
}

}  // namespace

std::vector<ClassSeconds> class_seconds(const TaskGraph& graph, const Timeline& timeline,
                                        double from, double to) {
  std::vector<ClassSeconds> seconds(graph.lanes.size());
  std::vector<std::vector<Interval>> kernels(graph.lanes.size()), transfers(graph.lanes.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    const double begin = std::max(timeline.start[t], from), end = std::min(timeline.finish[t], to);
    if (end <= begin || task.stream == Stream::None || task.stream == Stream::Host) continue;
    if (task.stream == Stream::Compute) {
      add_kernel_time(graph.segments[task.segment], end - begin, seconds[task.lane]);
      kernels[task.lane].push_back({begin, end});
    } else {
      transfers[task.lane].push_back({begin, end});
    }
  }
  for (std::size_t lane = 0; lane < seconds.size(); ++lane) {
    ClassSeconds& s = seconds[lane];
    at(s, PowerClass::Communication) += outside(transfers[lane], kernels[lane]);
    double known = 0;
    for (const double part : s) known += part;
    at(s, PowerClass::Idle) += std::max(0.0, to - from - known);
  }
  return seconds;
}

std::optional<Energy> energy_of(const models::Scenario& s, const TaskGraph& graph,
                                const Timeline& timeline, const std::optional<SteadyState>& steady,
                                const EnergySpan& span) {
  for (const models::NodeGroup& group : s.cluster.groups) {
    if (!group.device.tdp) return std::nullopt;
  }
  const double from = steady ? steady->from : 0, to = steady ? steady->to : timeline.makespan;
  const double steps = steady ? steady->steps : 1;
  auto seconds = class_seconds(graph, timeline, from, to);
  const double whole = span.seconds > 0 ? span.seconds * steps : to - from;
  for (ClassSeconds& lane : seconds) fill_span(lane, whole, span.work);
  Energy energy;
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    const Lane& ranks = graph.lanes[lane];
    const models::NodeGroup& node =
        s.cluster.groups[s.cluster.place_of(ranks.representative).group];
    const auto members = static_cast<double>(ranks.members);
    double joules = 0;
    for (std::size_t c = 0; c < seconds[lane].size(); ++c) {
      const PowerRange watts = models::device_power(node.device, static_cast<PowerClass>(c));
      const PowerRange used = watts * (seconds[lane][c] * members / steps);
      energy.by_class[c] += used;
      energy.step += used;
      joules += watts.middle * seconds[lane][c];
    }
    energy.watts.push_back(whole > 0 ? joules / whole : 0);
    const PowerRange host =
        models::host_power(node) * (members / node.devices_per_node * whole / steps);
    energy.host += host;
    energy.step += host;
  }
  return energy;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.hpp"
#include "sim/measure.hpp"
#include "sim/memory_events.hpp"

/// Memory along the timeline.
namespace paceline::sim {

std::vector<MemoryEvent> memory_events(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<MemoryEvent> events;
  bool ordered = true;  // per lane
  std::vector<double> last(graph.lanes.size(), 0);
  const auto add = [&](double time, TaskId t, bool starts) {
    double& before = last[graph.tasks[t].lane];
    ordered = ordered && time >= before;
    before = time;
    events.push_back({time, t, starts});
  };
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Segment& segment = graph.segments[graph.tasks[t].segment];
    if (!segment.at_start.empty()) add(timeline.start[t], t, true);
    if (!segment.at_finish.empty()) add(timeline.finish[t], t, false);
  }
  if (ordered) return events;
  std::stable_sort(events.begin(), events.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
    return a.time < b.time || (a.time == b.time && !a.starts && b.starts);
  });
  return events;
}

std::vector<MemoryPeak> replay_memory(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<MemoryPeak> peaks(graph.lanes.size());
  std::vector<std::array<double, kMemoryParts>> now(graph.lanes.size());
  const auto total = [](const std::array<double, kMemoryParts>& parts) {
    double sum = 0;
    for (const double p : parts) sum += p;
    return sum;
  };
  const auto note = [&](std::size_t lane, double time) {
    const double sum = total(now[lane]);
    if (sum <= peaks[lane].peak_bytes) return;
    peaks[lane].peak_bytes = sum;
    peaks[lane].at_seconds = time;
    peaks[lane].parts = now[lane];
  };
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    peaks[lane].lane = static_cast<int>(lane);
    peaks[lane].representative = graph.lanes[lane].representative;
    peaks[lane].members = graph.lanes[lane].members;
    peaks[lane].host_bytes = graph.lanes[lane].host_bytes;
    for (const MemoryDelta& d : graph.lanes[lane].resident)
      now[lane][static_cast<std::size_t>(d.part)] += d.bytes;
    note(lane, 0);
  }
  for (const MemoryEvent& event : memory_events(graph, timeline)) {
    const Task& task = graph.tasks[event.task];
    const Segment& segment = graph.segments[task.segment];
    for (const MemoryDelta& d : event.starts ? segment.at_start : segment.at_finish)
      now[task.lane][static_cast<std::size_t>(d.part)] += d.bytes;
    if (event.starts) note(task.lane, event.time);
  }
  return peaks;
}

void check_memory(const models::Scenario& s, Result& result) {
  for (MemoryPeak& peak : result.memory) {
    const std::size_t group = s.cluster.place_of(peak.representative).group;
    peak.capacity_bytes = s.cluster.groups[group].device.memory.value;
    peak.reserved_bytes = peak.peak_bytes;
  }
  const auto fullest = std::max_element(
      result.memory.begin(), result.memory.end(), [](const MemoryPeak& a, const MemoryPeak& b) {
        return a.reserved_bytes / a.capacity_bytes < b.reserved_bytes / b.capacity_bytes;
      });
  if (fullest == result.memory.end()) return;
  if (!fullest->fits()) {
    result.warnings.push_back("does not fit: rank " + std::to_string(fullest->representative) +
                              " needs " + base::format_bytes(base::Bytes(fullest->reserved_bytes)) +
                              " of " + base::format_bytes(base::Bytes(fullest->capacity_bytes)) +
                              " at " + base::format_seconds(base::Seconds(fullest->at_seconds)));
  } else if (fullest->nearly_full()) {
    result.warnings.push_back(
        "memory is " + base::format_percent(fullest->reserved_bytes / fullest->capacity_bytes) +
        " full on rank " + std::to_string(fullest->representative) +
        ": real runs slow down here, because the allocator keeps freeing its cache");
  }
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/energy/power.hpp"
#include "reports/html/view.hpp"
#include "reports/names.hpp"
#include "sim/energy.hpp"
#include "sim/memory_events.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;
using Parts = std::array<double, sim::kMemoryParts>;

constexpr std::size_t kMemoryBins = 240;

double total(const Parts& parts) {
  double sum = 0;
  for (const double bytes : parts) sum += bytes;
  return sum;
}

/// The fullest moment of each of equal parts of the timeline, of one lane.
struct Curve {
  Parts now{};
  std::vector<Parts> bins;
  void reach(std::size_t bin) {
    while (bins.size() <= bin) bins.push_back(now);
  }
  void note(std::size_t bin) {
    if (total(now) > total(bins[bin])) bins[bin] = now;
  }
};

std::vector<Curve> replay(const sim::Prediction& p) {
  std::vector<Curve> curves(p.graph.lanes.size());
  const auto apply = [&](Curve& curve, const std::vector<sim::MemoryDelta>& deltas) {
    for (const sim::MemoryDelta& d : deltas) curve.now[static_cast<std::size_t>(d.part)] += d.bytes;
  };
  for (std::size_t lane = 0; lane < curves.size(); ++lane)
    apply(curves[lane], p.graph.lanes[lane].resident);
  const double width = p.timeline.makespan / kMemoryBins;
  for (const sim::MemoryEvent& event : sim::memory_events(p.graph, p.timeline)) {
    const sim::Task& task = p.graph.tasks[event.task];
    const sim::Segment& segment = p.graph.segments[task.segment];
    const auto bin = width > 0 ? static_cast<std::size_t>(event.time / width) : 0;
    Curve& curve = curves[task.lane];
    curve.reach(std::min(bin, kMemoryBins - 1));
    apply(curve, event.starts ? segment.at_start : segment.at_finish);
    if (event.starts) curve.note(std::min(bin, kMemoryBins - 1));
  }
  for (Curve& curve : curves) curve.reach(kMemoryBins - 1);
  return curves;
}

void write_part(JsonWriter& json, const Curve& curve, std::size_t part, double unit) {
  std::vector<std::int64_t> values;
  for (const Parts& bin : curve.bins) values.push_back(std::llround(bin[part] / unit));
  if (std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; })) return;
  json.key(memory_part_keys()[part]).begin_array(true);
  // What does not change is one number.
  const bool constant =
      std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values[0]; });
  for (std::size_t i = 0; i < (constant ? 1 : values.size()); ++i) json.value(values[i]);
  json.end_array();
}

struct Watts {
  std::array<double, models::kPowerClasses> devices{};
  double hosts = 0;
};

Watts mean_watts(const models::Scenario& s, const sim::Prediction& p, double from, double to) {
  const std::vector<sim::ClassSeconds> seconds = sim::class_seconds(p.graph, p.timeline, from, to);
  Watts watts;
  for (std::size_t lane = 0; lane < seconds.size(); ++lane) {
    const sim::Lane& ranks = p.graph.lanes[lane];
    const models::NodeGroup& node =
        s.cluster.groups[s.cluster.place_of(ranks.representative).group];
    const auto members = static_cast<double>(ranks.members);
    for (std::size_t c = 0; c < watts.devices.size(); ++c)
      watts.devices[c] +=
          members * seconds[lane][c] / (to - from) *
          models::device_power(node.device, static_cast<models::PowerClass>(c)).middle;
    watts.hosts += members / node.devices_per_node * models::host_power(node).middle;
  }
  return watts;
}

}  // namespace

void write_memory_curves(JsonWriter& json, const sim::Prediction& p,
                         const std::vector<std::size_t>& lanes) {
  const std::vector<Curve> curves = replay(p);
  double largest = 0;
  for (const Curve& curve : curves)
    for (const Parts& bin : curve.bins) largest = std::max(largest, total(bin));
  const double unit = std::max(1.0, unit_for(largest, 4));
  json.key("memory").begin_object().field("unit_bytes", unit);
  json.field("bins", static_cast<std::int64_t>(kMemoryBins)).key("lanes").begin_array();
  for (const std::size_t lane : lanes) {
    json.begin_object().field("lane", static_cast<std::int64_t>(lane));
    json.key("parts").begin_object();
    for (std::size_t part = 0; part < sim::kMemoryParts; ++part)
      write_part(json, curves[lane], part, unit);
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

void write_power_curve(JsonWriter& json, const models::Scenario& s, const sim::Prediction& p,
                       const StepWindow& window) {
  // Every bin walks all tasks: fewer of them where there are millions.
  const double tasks = std::max<double>(1, static_cast<double>(p.graph.tasks.size()));
  const auto bins = static_cast<std::size_t>(std::clamp(20e6 / tasks, 12.0, 120.0));
  const double width = (window.to - window.from) / static_cast<double>(bins);
  if (!(width > 0)) return;
  std::vector<Watts> curve;
  for (std::size_t i = 0; i < bins; ++i)
    curve.push_back(mean_watts(s, p, window.from + width * static_cast<double>(i),
                               window.from + width * static_cast<double>(i + 1)));
  json.key("power").begin_object();
  json.field("from_s", window.from).field("to_s", window.to).key("watts").begin_object();
  for (std::size_t c = 0; c < models::kPowerClasses; ++c) {
    json.key(models::to_text(static_cast<models::PowerClass>(c))).begin_array(true);
    for (const Watts& watts : curve) json.value(rounded(watts.devices[c], 5));
    json.end_array();
  }
  json.key("hosts").begin_array(true);
  for (const Watts& watts : curve) json.value(rounded(watts.hosts, 5));
  json.end_array().end_object().end_object();
}

}  // namespace paceline::reports

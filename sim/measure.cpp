// SPDX-License-Identifier: Apache-2.0
#include "sim/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "models/cost/memory.hpp"
#include "models/workload/expert_load.hpp"
#include "models/workload/layer_ops.hpp"
#include "sim/documents.hpp"

namespace paceline::sim {
namespace {

/// Relative band when a device borrows another's profile: predicting a new generation without its
/// own GEMM and attention measurements misses by 10 to 25 % (docs/validation.md).
constexpr double kBorrowedBand = 0.2;
/// Forward of one layer below which host launches, not kernels, set the pace (about 15 launches).
constexpr double kLaunchBound = 150e-6;

double& at(PartSeconds& parts, Part part) { return parts[static_cast<std::size_t>(part)]; }

/// The part of a task that a waiting lane would blame: the largest of its segment.
Part blame(const TaskGraph& graph, const Task& task) {
  const PartSeconds& parts = graph.segments[task.segment].parts;
  return static_cast<Part>(std::max_element(parts.begin(), parts.end()) - parts.begin());
}

bool waits_on(const Task& task) {
  return task.kind == TaskKind::Message || task.kind == TaskKind::Collective ||
         task.kind == TaskKind::Host;
}

/// Splits a gap [from, to] of the compute stream of a lane: what was in transit for the task that
/// ends the gap goes to its part, the rest to the bubble. A collective waited for may itself have
/// queued behind others of its stream: they count as well.
void blame_gap(const TaskGraph& graph, const Timeline& timeline, TaskId waiting, double from,
               double to, PartSeconds& parts) {
  double left = to - from;
  const std::uint32_t lane = graph.tasks[waiting].lane;
  for (const TaskId cause : graph.dependencies(waiting)) {
    const Stream stream = graph.tasks[cause].stream;
    for (TaskId d = cause + 1; d-- > 0 && left > 0;) {
      const Task& task = graph.tasks[d];
      if (task.stream != stream || task.lane != graph.tasks[cause].lane) continue;
      if (!waits_on(task) || timeline.finish[d] <= from) break;
      const double overlap = std::min(timeline.finish[d], to) - std::max(timeline.start[d], from);
      const double taken = std::clamp(overlap, 0.0, left);
      at(parts, blame(graph, task)) += taken;
      left -= taken;
      if (task.lane != lane) break;  // a message: what its sender did before is not ours to blame
    }
  }
  at(parts, Part::Bubble) += std::max(0.0, left);
}

void add_task(const TaskGraph& graph, const Task& task, double duration, PartSeconds& parts) {
  const Segment& segment = graph.segments[task.segment];
  if (segment.seconds <= 0) {
    at(parts, Part::Compute) += duration;
    return;
  }
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] += segment.parts[i];
    sum += segment.parts[i];
  }
  // Slowed down: a message by others on its way, a kernel by communication beside it.
  at(parts, task.kind == TaskKind::Message ? Part::ExposedPp : Part::Compute) += duration - sum;
}

std::vector<double> compute_seconds(const TaskGraph& graph) {
  std::vector<double> sum(graph.lanes.size(), 0);
  for (const Task& task : graph.tasks) {
    if (task.stream != Stream::Compute) continue;
    sum[task.lane] += graph.segments[task.segment].parts[static_cast<std::size_t>(Part::Compute)];
  }
  return sum;
}

/// Span and busy time of the pipeline part of each lane: actions only, not the optimizer. Waiting
/// for a collective inside an action is part of it, whether the action is one task or many.
struct LaneSpan {
  double first = std::numeric_limits<double>::infinity();
  double last = 0;
  double busy = 0;
  double covered = 0;  ///< until when it has been busy
};

void measure_bubble(const TaskGraph& graph, const Timeline& timeline,
                    const std::optional<SteadyState>& steady, Result& result) {
  std::vector<LaneSpan> spans(graph.lanes.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    const bool inner = task.stream == Stream::Tp || task.stream == Stream::Cp ||
                       task.stream == Stream::CpOuter || task.stream == Stream::Ep;
    const bool own = task.stream == Stream::Compute &&
                     (task.kind == TaskKind::Action || task.kind == TaskKind::Kernel);
    if (!inner && !own) continue;
    LaneSpan& span = spans[task.lane];
    const double start = timeline.start[t], finish = timeline.finish[t];
    span.first = std::min(span.first, start);
    span.busy += std::max(0.0, finish - std::max(start, span.covered));
    span.covered = std::max(span.covered, finish);
    span.last = std::max(span.last, finish);
  }
  double first = std::numeric_limits<double>::infinity(), last = 0, busy = 0, longest = 0;
  for (const LaneSpan& span : spans) {
    first = std::min(first, span.first);
    last = std::max(last, span.last);
    busy = std::max(busy, span.busy);
    longest = std::max(longest, span.last - span.first);
  }
  if (last <= first) return;
  if (steady) {  // every stage runs all the time: the two are one
    result.bubble_makespan = 1 - busy / steady->piece / steady->period();
    result.bubble_longest_stage = result.bubble_makespan;
    return;
  }
  result.bubble_makespan = 1 - busy / (last - first);
  result.bubble_longest_stage = 1 - busy / longest;
}

double peak_flops(const models::Scenario& s) {
  double sum = 0;
  std::int64_t left = models::used_devices(s);
  for (const models::NodeGroup& group : s.cluster.groups) {
    const std::int64_t devices = std::min<std::int64_t>(left, group.devices());
    sum += static_cast<double>(devices) *
           group.device.matrix_rate[static_cast<std::size_t>(s.precision)].value;
    left -= devices;
  }
  return sum;
}

/// `piece`: steps of work in the graph. Inference needs a third of a step's operations.
void measure_rates(const models::Scenario& s, const TaskGraph& graph, double piece,
                   bool forward_only, Result& result) {
  const double samples = static_cast<double>(s.batch.global);
  result.samples_per_s = samples / result.step_time;
  result.tokens_per_s = samples * static_cast<double>(s.batch.sequence) / result.step_time;
  if (s.run_tokens > 0) {
    result.run_tokens = s.run_tokens;
    result.run_seconds = s.run_tokens / result.tokens_per_s;
    result.run_device_seconds = result.run_seconds * models::used_devices(s);
  }
  result.model_flops = model_flops(s) / (forward_only ? 3 : 1);
  std::vector<double> times(graph.segments.size(), 0);  // each kind of work runs, over all ranks
  for (const Task& task : graph.tasks) {
    times[task.segment] += static_cast<double>(graph.lanes[task.lane].members);
  }
  for (double& n : times) n /= piece;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Segment& segment = graph.segments[k];
    result.hardware_flops += segment.flops * times[k];
    for (std::size_t i = 0; i < segment.bytes.size(); ++i) {
      result.traffic_bytes[i] += segment.bytes[i] * times[k];
    }
  }
  const double peak = peak_flops(s) * result.step_time;
  result.mfu = result.model_flops / peak;
  result.hfu = std::max(result.hardware_flops, result.model_flops) / peak;
}

/// Half-width of the band: the profile's residual, wider where the profile belongs to another
/// device.
double band_of(const models::Scenario& s) {
  double band = 0;
  for (std::size_t i = 0; i < s.profiles.size(); ++i) {
    const bool borrowed = s.profiles[i].device != s.cluster.groups[i].device.name;
    band = std::max(
        band, borrowed ? std::max(s.profiles[i].residual, kBorrowedBand) : s.profiles[i].residual);
  }
  return band;
}

void warn_uncalibrated(const models::Scenario& s, const TaskGraph& graph, Result& result) {
  for (std::size_t i = 0; i < s.profiles.size(); ++i) {
    if (s.profiles[i].device == s.cluster.groups[i].device.name) continue;
    result.warnings.push_back("no measurements of " + s.cluster.groups[i].device.name +
                              ": fractions of peak are those of " + s.profiles[i].device +
                              ", the band is a guess");
  }
  for (const Segment& segment : graph.segments) {
    if (segment.name != "layer F" || segment.seconds >= kLaunchBound) continue;
    result.warnings.push_back("a layer's forward takes " +
                              base::format_seconds(base::Seconds(segment.seconds)) +
                              ": at this size kernel launches dominate, which no profile covers");
    break;
  }
}

void warn_dropped(const models::Scenario& s, Result& result) {
  if (s.moe.capacity <= 0) return;
  for (const models::Layer& layer : s.model.kinds) {
    const models::Experts& e = layer.experts;
    if (e.count == 0) continue;
    const double dropped =
        models::expert_load(s.moe, e.count, e.per_token, s.parallel.ep).dropped();
    if (dropped < 1e-6) return;
    result.warnings.push_back("moe.capacity drops " + base::format_fixed(100 * dropped, 1) +
                              " % of what the router sends to experts");
    return;
  }
}

void add_warnings(const models::Scenario& s, Result& result) {
  if (s.modules.empty()) warn_dropped(s, result);
  for (const models::Module& module : s.modules) warn_dropped(*module.view, result);
  if (result.mfu > 1) {
    result.warnings.push_back(
        "MFU above 100 %: the times given under costs are shorter than the "
        "model's arithmetic at the device's peak");
  }
  if (s.model.context > 0 && s.batch.sequence > s.model.context) {
    result.warnings.push_back("batch.sequence " + std::to_string(s.batch.sequence) +
                              " is longer than the model's context of " +
                              std::to_string(s.model.context));
  }
}

/// A figure of other models on other machines: said wherever it matters.
void assume_overlap(const models::Scenario& s, const TaskGraph& graph, Result& result) {
  if (s.stack.overlap_slowdown) return;
  float slowdown = 1;
  for (const Task& task : graph.tasks) slowdown = std::max(slowdown, task.slowdown);
  if (slowdown <= 1) return;
  result.assumptions.push_back(
      "kernels beside communication take " + base::format_fixed(double{slowdown}, 2) +
      " times as long (mean of four GPUs, arXiv 2507.03114); stack.overlap_slowdown sets it");
}

}  // namespace

bool Result::fits() const {
  return std::all_of(memory.begin(), memory.end(), [](const MemoryPeak& m) { return m.fits(); });
}

double model_flops(const models::Scenario& s) {
  double sum = 0;
  for (const models::Module& module : s.modules) {
    // Forward, gradients of activations, gradients of weights: a third each.
    const double thirds = 1 + (module.backward ? 1 : 0) + (module.view->frozen ? 0 : 1);
    sum += model_flops(*module.view) * thirds / 3;
  }
  if (!s.modules.empty()) return sum;
  const models::Model& m = s.model;
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence);
  double parameters = static_cast<double>(m.vocab) * static_cast<double>(m.hidden);
  double attention = 0;  // forward, per sequence
  const auto sequence = static_cast<double>(s.batch.sequence);
  std::vector<double> shares;  // of the full sequence's area, by kind
  for (const models::Layer& layer : m.kinds)
    shares.push_back(s.batch.documents ? document_shares(s, models::mask_of(layer.attention)).area
                                       : 1);
  for (const int kind : m.layers) {
    const models::Layer& layer = m.kinds[static_cast<std::size_t>(kind)];
    const models::Attention& a = layer.attention;
    parameters += static_cast<double>(models::active_layer_parameters(m, layer));
    attention += 2 * sequence * sequence * shares[static_cast<std::size_t>(kind)] *
                 (a.causal ? models::causal_fraction(sequence, static_cast<double>(a.window))
                           : 1 / static_cast<double>(a.subsequences)) *
                 static_cast<double>(a.heads * (a.head_dim + a.value_dim));
  }
  return 6 * parameters * tokens + 3 * attention * static_cast<double>(s.batch.global);
}

namespace {

/// Tasks of a lane; those of the compute stream in the order they ran.
std::vector<TaskId> by_start(const TaskGraph& graph, const Timeline& timeline, std::uint32_t lane) {
  std::vector<TaskId> tasks;
  double last = 0;
  bool ordered = true;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].lane != lane) continue;
    tasks.push_back(t);
    if (graph.tasks[t].stream != Stream::Compute) continue;
    ordered = ordered && timeline.start[t] >= last;
    last = timeline.start[t];
  }
  if (ordered) return tasks;
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](TaskId a, TaskId b) { return timeline.start[a] < timeline.start[b]; });
  return tasks;
}

}  // namespace

PartSeconds breakdown_of(const TaskGraph& graph, const Timeline& timeline, std::uint32_t lane,
                         double from, double to, double coordination) {
  PartSeconds parts{};
  double busy_until = from;
  to = std::min(to, timeline.makespan);
  std::vector<TaskId> tail;
  for (const TaskId t : by_start(graph, timeline, lane)) {
    const Task& task = graph.tasks[t];
    if (task.stream != Stream::Compute) {
      if (waits_on(task)) tail.push_back(t);
      continue;
    }
    const double start = timeline.start[t], finish = timeline.finish[t];
    if (from > 0 && finish <= from) continue;
    double until = std::min(start, to);
    if (until > busy_until && coordination > 0 && task.kind == TaskKind::Action) {
      const double agreed = std::min(coordination, until - busy_until);
      at(parts, Part::Host) += agreed;
      until -= agreed;
    }
    if (until > busy_until) blame_gap(graph, timeline, t, busy_until, until, parts);
    if (start >= to && to < timeline.makespan) return parts;
    const double inside = std::min(finish, to) - std::max(start, from);
    if (inside < finish - start) {
      PartSeconds whole{};
      add_task(graph, task, finish - start, whole);
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] += whole[i] * inside / (finish - start);
    } else {
      add_task(graph, task, finish - start, parts);
    }
    busy_until = std::max(busy_until, std::min(finish, to));
  }
  std::erase_if(tail, [&](TaskId t) { return timeline.finish[t] <= busy_until; });
  std::sort(tail.begin(), tail.end(),
            [&](TaskId a, TaskId b) { return timeline.start[a] < timeline.start[b]; });
  double cursor = busy_until;
  for (const TaskId t : tail) {
    const double start = std::min(std::max(cursor, timeline.start[t]), to);
    at(parts, Part::Bubble) += start - cursor;
    const double end = std::max(start, std::min(timeline.finish[t], to));
    at(parts, blame(graph, graph.tasks[t])) += end - start;
    cursor = end;
  }
  at(parts, Part::Bubble) += std::max(0.0, to - cursor);
  return parts;
}

Result measure(const models::Scenario& s, const TaskGraph& graph, const Timeline& timeline,
               const std::optional<SteadyState>& steady, bool forward_only) {
  Result result;
  result.engine = "reference";
  result.step_time = steady ? steady->period() : timeline.makespan;
  const double residual = band_of(s);
  result.step_time_low = result.step_time * (1 - residual);
  result.step_time_high = result.step_time * (1 + residual);
  measure_rates(s, graph, steady ? steady->piece : 1, forward_only, result);
  measure_bubble(graph, timeline, steady, result);
  const std::vector<double> compute = compute_seconds(graph);
  result.critical_lane =
      static_cast<int>(std::max_element(compute.begin(), compute.end()) - compute.begin());
  const auto lane = static_cast<std::uint32_t>(result.critical_lane);
  const double coordination = s.parallel.tp > 1 ? s.schedule.dispatch.coordination.value : 0;
  result.breakdown = breakdown_of(graph, timeline, lane, steady ? steady->from : 0,
                                  steady ? steady->to : timeline.makespan, coordination);
  if (steady) {
    for (double& seconds : result.breakdown) seconds /= steady->steps;
  }
  result.memory = replay_memory(graph, timeline);
  result.assumptions = s.assumptions;
  assume_overlap(s, graph, result);
  check_memory(s, result);
  add_warnings(s, result);
  warn_uncalibrated(s, graph, result);
  return result;
}

}  // namespace paceline::sim

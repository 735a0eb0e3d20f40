// SPDX-License-Identifier: Apache-2.0
#include "reports/trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "reports/names.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;
using sim::Prediction;
using sim::Stream;
using sim::Task;
using sim::TaskId;

constexpr std::size_t kFlushBytes = 1u << 20;

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }
double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string_view category(sim::TaskKind kind) {
  switch (kind) {
    case sim::TaskKind::Action:
      return "action";
    case sim::TaskKind::Kernel:
      return "kernel";
    case sim::TaskKind::Message:
      return "message";
    case sim::TaskKind::Collective:
      return "collective";
    case sim::TaskKind::Optimizer:
      return "optimizer";
    case sim::TaskKind::Host:
      return "host";
    case sim::TaskKind::Join:
      return "join";
  }
  return "";
}

/// Puts one event per line into the sink and counts them.
class EventWriter {
 public:
  EventWriter(const Sink& sink, std::string prefix) : sink_(sink), buffer_(std::move(prefix)) {}

  void add(JsonWriter& event) {
    std::string line = event.finish();
    line.pop_back();  // the final newline
    buffer_ += count_++ == 0 ? "\n" : ",\n";
    buffer_ += line;
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void end(std::string_view suffix) {
    buffer_ += suffix;
    flush();
  }
  std::size_t count() const { return count_; }

 private:
  void flush() {
    sink_(buffer_);
    buffer_.clear();
  }
  const Sink& sink_;
  std::string buffer_;
  std::size_t count_ = 0;
};

/// Fields every event has. Processes and threads count from 1: viewers treat 0 specially.
JsonWriter event(std::string_view phase, std::string_view name, std::size_t lane, int thread) {
  JsonWriter json(0);
  json.begin_object().field("ph", phase).field("name", name);
  json.field("pid", static_cast<std::int64_t>(lane) + 1).field("tid", thread);
  return json;
}

int thread_of(Stream stream) { return static_cast<int>(stream) + 1; }

/// Tasks that take a place on a thread. Joins are only edges of the graph, and the ends of an
/// action that runs piece by piece only carry its memory.
bool shown(const Task& task) { return task.stream != Stream::None && task.seconds > 0; }

void metadata(EventWriter& out, std::string_view kind, std::size_t lane, int thread,
              std::string_view key, const std::string* text, std::int64_t number) {
  JsonWriter json = event("M", kind, lane, thread);
  json.key("args").begin_object();
  if (text != nullptr)
    json.field(key, std::string_view(*text));
  else
    json.field(key, number);
  json.end_object().end_object();
  out.add(json);
}

std::span<const sim::InnerSlice> inner_of(const sim::TaskGraph& graph, const Task& task) {
  if (task.segment >= graph.segments.size()) return {};
  return graph.segments[task.segment].inner;
}

void name_lanes(EventWriter& out, const Prediction& prediction) {
  const auto& graph = prediction.graph;
  const auto streams = stream_keys();
  std::vector<std::array<bool, sim::kStreams>> used(graph.lanes.size());
  for (const Task& task : graph.tasks) {
    used[task.lane][static_cast<std::size_t>(task.stream)] = true;
    for (const sim::InnerSlice& slice : inner_of(graph, task))
      used[task.lane][static_cast<std::size_t>(slice.stream)] = true;
  }
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    const RankClass rank_class = describe_lane(prediction, lane);
    const std::string& side = graph.lanes[lane].title;
    const std::string name = (side.empty() ? "" : side + " ") + to_text(rank_class),
                      labels = std::to_string(graph.lanes[lane].members) + " like rank " +
                               std::to_string(graph.lanes[lane].representative);
    metadata(out, "process_name", lane, 0, "name", &name, 0);
    metadata(out, "process_labels", lane, 0, "labels", &labels, 0);
    // Titled lanes stand beside those of the same rank.
    metadata(out, "process_sort_index", lane, 0, "sort_index", nullptr,
             side.empty() ? static_cast<std::int64_t>(lane) : graph.lanes[lane].representative);
    for (int s = 0; s < sim::kStreams; ++s) {
      const auto stream = static_cast<Stream>(s);
      if (!used[lane][static_cast<std::size_t>(s)] || stream == Stream::None) continue;
      const std::string title = title_name(streams[static_cast<std::size_t>(s)]);
      metadata(out, "thread_name", lane, thread_of(stream), "name", &title, 0);
      metadata(out, "thread_sort_index", lane, thread_of(stream), "sort_index", nullptr, s);
    }
  }
}

void slice_arguments(JsonWriter& json, const Prediction& prediction, const Task& task,
                     std::size_t rank) {
  const auto& graph = prediction.graph;
  json.key("args").begin_object();
  if (task.segment < graph.segments.size()) {
    const sim::Segment& segment = graph.segments[task.segment];
    json.field("segment", std::string_view(segment.name));
    const double bytes = std::accumulate(segment.bytes.begin(), segment.bytes.end(), 0.0);
    if (bytes > 0) json.field("bytes", bytes);
  }
  const auto& order = prediction.program.order;
  const bool of_action = task.kind == sim::TaskKind::Action || task.kind == sim::TaskKind::Kernel ||
                         task.kind == sim::TaskKind::Message;
  if (of_action && rank < order.size() && task.origin < order[rank].size()) {
    const sim::Action& action = order[rank][task.origin];
    json.field("stage", static_cast<int>(action.stage));
    json.field("microbatch", static_cast<int>(action.microbatch));
    if (prediction.program.slices > 1) json.field("slice", static_cast<int>(action.slice));
  }
  json.end_object();
}

/// The collectives inside a task, on their own threads; stretched like the task.
void inner_slices(EventWriter& out, const Prediction& prediction, const Task& task, double start,
                  double finish) {
  const double stretch = task.seconds > 0 ? (finish - start) / task.seconds : 1;
  for (const sim::InnerSlice& slice : inner_of(prediction.graph, task)) {
    const std::int64_t from = nanoseconds(start + slice.start * stretch);
    const std::int64_t to = nanoseconds(start + slice.finish * stretch);
    JsonWriter json = event("X", slice.name, task.lane, thread_of(slice.stream));
    json.field("cat", "collective").field("ts", microseconds(from));
    json.field("dur", microseconds(to - from));
    json.key("args").begin_object().field("bytes", slice.bytes).end_object().end_object();
    out.add(json);
  }
}

void slices(EventWriter& out, const Prediction& prediction) {
  const auto& graph = prediction.graph;
  std::vector<std::size_t> ranks;
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    ranks.push_back(static_cast<std::size_t>(describe_lane(prediction, lane).pipeline_rank));
  }
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (!shown(task)) continue;
    const std::int64_t start = nanoseconds(prediction.timeline.start[t]);
    const std::int64_t finish = nanoseconds(prediction.timeline.finish[t]);
    JsonWriter json = event("X", sim::task_label(prediction, static_cast<TaskId>(t)), task.lane,
                            thread_of(task.stream));
    json.field("cat", category(task.kind)).field("ts", microseconds(start));
    json.field("dur", microseconds(finish - start));
    slice_arguments(json, prediction, task, ranks[task.lane]);
    json.end_object();
    out.add(json);
    inner_slices(out, prediction, task, prediction.timeline.start[t],
                 prediction.timeline.finish[t]);
  }
}

/// The slice an arrow can start from: the task itself, or what a join of another class waits for.
TaskId arrow_source(const sim::TaskGraph& graph, TaskId task) {
  for (int depth = 0; depth < 4 && !shown(graph.tasks[task]); ++depth) {
    const auto deps = graph.dependencies(task);
    if (deps.size() != 1) break;
    task = deps.front();
  }
  return task;
}

/// The slice an arrow can end at: the task itself, or the first piece of an action that runs layer
/// by layer.
TaskId arrow_target(const sim::TaskGraph& graph, TaskId task) {
  const Task& to = graph.tasks[task];
  if (to.stream == Stream::None) return sim::kNoTask;
  for (TaskId t = task; t < graph.tasks.size(); ++t) {
    const Task& piece = graph.tasks[t];
    if (piece.lane == to.lane && piece.stream == to.stream && shown(piece)) return t;
  }
  return sim::kNoTask;
}

void arrows(EventWriter& out, const Prediction& prediction) {
  const auto& graph = prediction.graph;
  std::int64_t id = 0;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const TaskId target = arrow_target(graph, static_cast<TaskId>(t));
    if (target == sim::kNoTask) continue;
    const Task& to = graph.tasks[target];
    for (const TaskId dependency : graph.dependencies(static_cast<TaskId>(t))) {
      const TaskId s = arrow_source(graph, dependency);
      const Task& from = graph.tasks[s];
      if (!shown(from) || from.lane == to.lane) continue;
      ++id;
      // The arrow leaves just before its slice ends: the end itself may belong to the next one.
      const std::int64_t start = nanoseconds(prediction.timeline.start[s]);
      const std::int64_t leave = std::max(start, nanoseconds(prediction.timeline.finish[s]) - 1);
      JsonWriter begin = event("s", "message", from.lane, thread_of(from.stream));
      begin.field("cat", "flow").field("id", id);
      begin.field("ts", microseconds(leave)).end_object();
      out.add(begin);
      JsonWriter end = event("f", "message", to.lane, thread_of(to.stream));
      end.field("cat", "flow").field("id", id).field("bp", "e");
      end.field("ts", microseconds(nanoseconds(prediction.timeline.start[target]))).end_object();
      out.add(end);
    }
  }
}

struct Change {
  std::int64_t ns = 0;
  const std::vector<sim::MemoryDelta>* deltas = nullptr;
};

void count_memory(EventWriter& out, std::size_t lane, std::vector<Change>& changes) {
  const auto names = memory_part_keys();
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.ns < b.ns; });
  std::array<double, sim::kMemoryParts> held{};
  std::array<bool, sim::kMemoryParts> changed{};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const sim::MemoryDelta& delta : *changes[i].deltas) {
      const auto part = static_cast<std::size_t>(delta.part);
      held[part] += delta.bytes;
      changed[part] = true;
    }
    if (i + 1 < changes.size() && changes[i + 1].ns == changes[i].ns) continue;
    for (std::size_t part = 0; part < held.size(); ++part) {
      if (!changed[part]) continue;
      JsonWriter json = event("C", "memory " + title_name(names[part]), lane, 0);
      json.field("ts", microseconds(changes[i].ns)).key("args").begin_object();
      json.field("bytes", held[part] + 0.0).end_object().end_object();
      out.add(json);
    }
    changed.fill(false);
  }
}

void counters(EventWriter& out, const Prediction& prediction) {
  const auto& graph = prediction.graph;
  std::vector<std::vector<Change>> changes(graph.lanes.size());
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    changes[lane].push_back({0, &graph.lanes[lane].resident});
  }
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.segment >= graph.segments.size()) continue;
    const sim::Segment& segment = graph.segments[task.segment];
    auto& list = changes[task.lane];
    if (!segment.at_start.empty()) {
      list.push_back({nanoseconds(prediction.timeline.start[t]), &segment.at_start});
    }
    if (!segment.at_finish.empty()) {
      list.push_back({nanoseconds(prediction.timeline.finish[t]), &segment.at_finish});
    }
  }
  for (std::size_t lane = 0; lane < changes.size(); ++lane) count_memory(out, lane, changes[lane]);
}

std::string prefix(const Answer& answer) {
  JsonWriter json(0);
  json.begin_object();
  json.field("scenario", std::string_view(answer.scenario))
      .field("hash", std::string_view(answer.hash));
  json.field("version", std::string_view(answer.version));
  json.field("engine", std::string_view(answer.result.engine));
  json.field("stack", std::string_view(answer.stack));
  json.field("command", std::string_view(answer.command)).end_object();
  std::string data = json.finish();
  data.pop_back();
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + data + ",\"traceEvents\":[";
}

}  // namespace

std::size_t write_trace(const Answer& answer, const Prediction& prediction, const Sink& sink) {
  EventWriter out(sink, prefix(answer));
  name_lanes(out, prediction);
  slices(out, prediction);
  arrows(out, prediction);
  counters(out, prediction);
  out.end("\n]}\n");
  return out.count();
}

}  // namespace paceline::reports

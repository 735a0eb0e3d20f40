// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "reports/answer.hpp"
#include "reports/html/view.hpp"
#include "reports/names.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;
using sim::TaskId;

constexpr std::size_t kNamedLanes = 256;
constexpr std::size_t kInnerSlices = 20'000;
constexpr std::size_t kMostSpans = 300'000;  ///< where even the lanes shown have more

std::int64_t whole(double seconds, double unit) { return std::llround(seconds / unit); }

/// What tasks alike share: the span itself only says which, when and of which microbatch.
struct SpanKind {
  sim::TaskKind kind;
  int pass, stage, slice, segment;  ///< -1: none
  auto operator<=>(const SpanKind&) const = default;
};

SpanKind kind_of(const sim::Prediction& p, const sim::Task& task, int& microbatch) {
  SpanKind kind{task.kind, -1, -1, -1, task.segment};
  microbatch = -1;
  const auto& order = p.program.order;
  if (order.empty() || task.kind == sim::TaskKind::Collective ||
      task.kind == sim::TaskKind::Optimizer || task.kind == sim::TaskKind::Host)
    return kind;
  const auto& actions = order[task.lane % order.size()];
  if (task.origin >= actions.size()) return kind;
  const sim::Action& action = actions[task.origin];
  microbatch = action.microbatch;
  kind.pass = action.pass;
  kind.stage = action.stage;
  if (p.program.slices > 1) kind.slice = action.slice;
  return kind;
}

class KindTable {
 public:
  explicit KindTable(const sim::Prediction& p) : p_(p) {}
  int index(const SpanKind& kind) {
    const auto [found, added] = numbers_.try_emplace(kind, static_cast<int>(kinds_.size()));
    if (added) kinds_.push_back(kind);
    return found->second;
  }
  void write(JsonWriter& json, double unit) const {
    static constexpr std::array<std::string_view, 7> kKinds{
        "action", "kernel", "message", "collective", "optimizer", "host", "join"};
    json.key("kinds").begin_array();
    std::size_t slices = 0;
    for (const SpanKind& kind : kinds_) {
      const sim::Segment& segment = p_.graph.segments[static_cast<std::size_t>(kind.segment)];
      json.begin_object().field("kind", kKinds[static_cast<std::size_t>(kind.kind)]);
      json.field("name", std::string_view(segment.name));
      if (kind.pass >= 0)
        json.field("pass",
                   std::string_view(p_.program.passes[static_cast<std::size_t>(kind.pass)].name));
      if (kind.stage >= 0) json.field("stage", kind.stage);
      if (kind.slice >= 0) json.field("slice", kind.slice);
      const double bytes = std::accumulate(segment.bytes.begin(), segment.bytes.end(), 0.0);
      if (bytes > 0) json.field("bytes", rounded(bytes));
      if (segment.flops > 0) json.field("flops", rounded(segment.flops));
      slices += segment.inner.size();
      if (!segment.inner.empty() && slices <= kInnerSlices) write_inner(json, segment, unit);
      json.end_object();
    }
    json.end_array();
  }

 private:
  /// [stream, name, start, duration, bytes]: collectives inside, in the time of the action alone.
  static void write_inner(JsonWriter& json, const sim::Segment& segment, double unit) {
    json.field("alone", whole(segment.seconds, unit));
    json.key("inner").begin_array();
    for (const sim::InnerSlice& slice : segment.inner) {
      json.begin_array(true).value(static_cast<int>(slice.stream)).value(slice.name);
      json.value(whole(slice.start, unit));
      json.value(whole(slice.finish - slice.start, unit));
      json.value(rounded(slice.bytes)).end_array();
    }
    json.end_array();
  }

  const sim::Prediction& p_;
  std::map<SpanKind, int> numbers_;
  std::vector<SpanKind> kinds_;
};

void write_numbers(JsonWriter& json, std::string_view key, const std::vector<std::int64_t>& list) {
  json.key(key).begin_array(true);
  for (const std::int64_t value : list) json.value(value);
  json.end_array();
}

/// The spans of one stream of one lane.
void write_row(JsonWriter& json, const sim::Prediction& p, std::size_t lane, sim::Stream stream,
               const std::vector<TaskId>& tasks, double unit, KindTable& kinds) {
  std::vector<std::int64_t> gaps, lengths, which, microbatches;
  std::int64_t end = 0;
  for (const TaskId t : tasks) {
    const std::int64_t start = whole(p.timeline.start[t], unit);
    const std::int64_t finish = whole(p.timeline.finish[t], unit);
    int microbatch = -1;
    which.push_back(kinds.index(kind_of(p, p.graph.tasks[t], microbatch)));
    gaps.push_back(start - end);
    lengths.push_back(finish - start);
    microbatches.push_back(microbatch);
    end = finish;
  }
  json.begin_object().field("lane", static_cast<std::int64_t>(lane));
  json.field("stream", static_cast<int>(stream));
  write_numbers(json, "gap", gaps);
  write_numbers(json, "length", lengths);
  write_numbers(json, "kind", which);
  write_numbers(json, "microbatch", microbatches);
  json.end_object();
}

void write_lanes(JsonWriter& json, const sim::Prediction& p) {
  json.field("lanes_total", static_cast<std::int64_t>(p.graph.lanes.size()));
  json.key("lanes").begin_array();
  for (std::size_t lane = 0; lane < std::min(p.graph.lanes.size(), kNamedLanes); ++lane) {
    const RankClass who = describe_lane(p, lane);
    json.begin_object().field("name", to_text(who));
    json.field("ranks", std::string_view(who.ranks));
    json.field("members", p.graph.lanes[lane].members);
    json.key("stages").begin_array(true);
    for (const int stage : who.stages) json.value(stage);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

void write_spans(JsonWriter& json, const sim::Prediction& p, const StepWindow& window,
                 const std::vector<std::size_t>& lanes) {
  const double unit = unit_for(p.timeline.makespan, 7);
  std::vector<std::array<std::vector<TaskId>, sim::kStreams>> rows(p.graph.lanes.size());
  for (TaskId t = 0; t < p.graph.tasks.size(); ++t) {
    const sim::Task& task = p.graph.tasks[t];
    if (task.stream == sim::Stream::None || task.seconds <= 0) continue;
    if (!std::binary_search(lanes.begin(), lanes.end(), task.lane)) continue;
    rows[task.lane][static_cast<std::size_t>(task.stream)].push_back(t);
  }
  const auto earlier = [&](TaskId a, TaskId b) {
    return p.timeline.start[a] < p.timeline.start[b];
  };
  json.key("spans").begin_object().field("unit_s", unit);
  json.field("makespan", whole(p.timeline.makespan, unit));
  json.key("window").begin_array(true);
  json.value(whole(window.from, unit));
  json.value(whole(window.to, unit)).end_array();
  json.key("streams").begin_array(true);
  for (const std::string& name : stream_keys()) json.value(std::string_view(title_name(name)));
  json.end_array();
  write_lanes(json, p);
  KindTable kinds(p);
  std::size_t left = kMostSpans;
  json.key("rows").begin_array();
  for (const std::size_t lane : lanes) {
    for (std::size_t s = 0; s < rows[lane].size(); ++s) {
      std::vector<TaskId>& tasks = rows[lane][s];
      std::stable_sort(tasks.begin(), tasks.end(), earlier);
      if (tasks.size() > left) tasks.resize(left);
      left -= tasks.size();
      if (!tasks.empty()) write_row(json, p, lane, static_cast<sim::Stream>(s), tasks, unit, kinds);
    }
  }
  json.end_array();
  if (left == 0) json.field("cut", true);
  kinds.write(json, unit);
  json.end_object();
}

}  // namespace paceline::reports

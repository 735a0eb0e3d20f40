// SPDX-License-Identifier: Apache-2.0
#include "reports/trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "base/config.hpp"
#include "tests/scenario_of.hpp"
#include "tests/unit/reports/example.hpp"

using namespace paceline;

namespace {

struct Trace {
  std::string text;
  std::size_t count = 0;
  base::Document document;
  const std::vector<base::Value>& events() const {
    return base::find_path(document.root, "traceEvents")->items;
  }
};

Trace trace_of(const sim::Prediction& prediction) {
  Trace trace;
  const auto answer = reports::make_answer(tests::example_scenario(), prediction, "c");
  trace.count =
      reports::write_trace(answer, prediction, [&](std::string_view part) { trace.text += part; });
  trace.document = base::parse_json(trace.text, "trace.json");
  return trace;
}

std::string text_at(const base::Value& event, const char* path) {
  const base::Value* value = base::find_path(event, path);
  INFO("missing " << path);
  REQUIRE(value != nullptr);
  return value->text;
}

double number_at(const base::Value& event, const char* path) {
  const base::Value* value = base::find_path(event, path);
  INFO("missing " << path);
  REQUIRE(value != nullptr);
  CHECK_FALSE(value->quoted);
  char* end = nullptr;
  const double number = std::strtod(value->text.c_str(), &end);
  CHECK(*end == '\0');
  return number;
}

using Thread = std::pair<std::string, std::string>;  // pid, tid
struct Slice {
  double start = 0, finish = 0;
};

std::map<Thread, std::vector<Slice>> slices_of(const Trace& trace) {
  std::map<Thread, std::vector<Slice>> out;
  for (const auto& event : trace.events()) {
    if (text_at(event, "ph") != "X") continue;
    const double ts = number_at(event, "ts"), dur = number_at(event, "dur");
    CHECK(ts >= 0);
    CHECK(dur >= 0);
    CHECK_FALSE(text_at(event, "name").empty());
    out[{text_at(event, "pid"), text_at(event, "tid")}].push_back({ts, ts + dur});
  }
  return out;
}

}  // namespace

TEST_CASE("a trace is JSON whose events all have a phase, a process and a thread", "[reports]") {
  const Trace trace = trace_of(tests::example_prediction());
  CHECK(trace.events().size() == trace.count);
  for (const auto& event : trace.events()) {
    const std::string phase = text_at(event, "ph");
    CHECK((phase == "X" || phase == "M" || phase == "C" || phase == "s" || phase == "f"));
    CHECK(number_at(event, "pid") >= 1);
    CHECK(number_at(event, "tid") >= 0);
    if (phase != "M") CHECK(number_at(event, "ts") >= 0);
  }
}

TEST_CASE("every thread of a trace is named and its slices never overlap", "[reports]") {
  const Trace trace = trace_of(tests::example_prediction());
  std::set<Thread> named;
  std::set<std::string> processes;
  for (const auto& event : trace.events()) {
    if (text_at(event, "ph") != "M") continue;
    const std::string kind = text_at(event, "name");
    if (kind == "thread_name") named.insert({text_at(event, "pid"), text_at(event, "tid")});
    if (kind == "process_name") processes.insert(text_at(event, "args.name"));
    if (kind == "process_sort_index") number_at(event, "args.sort_index");
  }
  CHECK(processes ==
        std::set<std::string>{"ranks 0-3, stage 0 (embedding)", "ranks 4-7, stage 1 (head)"});
  const auto slices = slices_of(trace);
  CHECK(slices.size() == 6);  // compute, one pp direction and dp on each of two lanes
  for (auto [thread, list] : slices) {
    CHECK(named.count(thread) == 1);
    std::sort(list.begin(), list.end(),
              [](const Slice& a, const Slice& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < list.size(); ++i) {
      CHECK(list[i].start >= list[i - 1].finish - 1e-9);
    }
  }
}

TEST_CASE("slices carry stage, microbatch and bytes", "[reports]") {
  const Trace trace = trace_of(tests::example_prediction());
  int actions = 0, messages = 0;
  for (const auto& event : trace.events()) {
    if (text_at(event, "ph") != "X") continue;
    if (text_at(event, "cat") == "action") {
      ++actions;
      number_at(event, "args.stage");
      number_at(event, "args.microbatch");
    }
    if (text_at(event, "cat") == "message") {
      ++messages;
      CHECK(number_at(event, "args.bytes") == 64e6);
    }
  }
  CHECK(actions == 12);
  CHECK(messages == 6);
}

TEST_CASE("flow arrows come in pairs that lie inside slices of different processes", "[reports]") {
  const Trace trace = trace_of(tests::example_prediction());
  const auto slices = slices_of(trace);
  std::map<std::string, const base::Value*> begins, ends;
  const auto inside = [&](const base::Value& event) {
    const double ts = number_at(event, "ts");
    for (const Slice& slice : slices.at({text_at(event, "pid"), text_at(event, "tid")})) {
      if (slice.start <= ts && ts < slice.finish) return true;
    }
    return false;
  };
  for (const auto& event : trace.events()) {
    const std::string phase = text_at(event, "ph");
    if (phase != "s" && phase != "f") continue;
    CHECK(inside(event));
    auto& side = phase == "s" ? begins : ends;
    CHECK(side.emplace(text_at(event, "id"), &event).second);
    if (phase == "f") CHECK(text_at(event, "bp") == "e");
  }
  CHECK(begins.size() == 6);  // one per message, also through the join
  REQUIRE(begins.size() == ends.size());
  for (const auto& [id, begin] : begins) {
    REQUIRE(ends.count(id) == 1);
    CHECK(number_at(*begin, "ts") <= number_at(*ends[id], "ts"));
    CHECK(text_at(*begin, "pid") != text_at(*ends[id], "pid"));
    CHECK(text_at(*begin, "cat") == text_at(*ends[id], "cat"));
    CHECK(text_at(*begin, "name") == text_at(*ends[id], "name"));
  }
}

TEST_CASE("memory counters start at what is resident and end there", "[reports]") {
  const Trace trace = trace_of(tests::example_prediction());
  std::map<Thread, std::vector<double>> series;  // pid, name
  for (const auto& event : trace.events()) {
    if (text_at(event, "ph") != "C") continue;
    series[{text_at(event, "pid"), text_at(event, "name")}].push_back(
        number_at(event, "args.bytes"));
  }
  REQUIRE(series.size() == 4);
  CHECK(series.at({"1", "memory parameters"}) == std::vector<double>{30 * 0x1p30});
  const auto& activations = series.at({"1", "memory activations"});
  CHECK(*std::max_element(activations.begin(), activations.end()) == 4 * 0x1p30);
  CHECK(activations.back() == 0);
}

TEST_CASE("the same prediction gives the same trace", "[reports]") {
  CHECK(trace_of(tests::example_prediction()).text == trace_of(tests::example_prediction()).text);
}

TEST_CASE("collectives inside actions have rows of their own", "[reports]") {
  const auto layout = GENERATE(as<std::string>{}, "{tp: 2, cp: 2, pp: 2, dp: 1}",
                               "{tp: 2, cp: 2, pp: 1, dp: 2, zero: 3}");
  const models::Scenario s =
      ::tests::small_gpt("parallel: " + layout + "\nbatch: {global: 16, micro: 1, sequence: 512}");
  const sim::Prediction prediction = sim::predict(s, {.inner = true});
  const Trace trace = trace_of(prediction);
  std::map<std::string, int> rows;
  double tp_bytes = 0;
  for (const auto& event : trace.events()) {
    if (text_at(event, "ph") == "M" && text_at(event, "name") == "thread_name") {
      ++rows[text_at(event, "args.name")];
    }
    if (text_at(event, "ph") != "X") continue;
    CHECK(number_at(event, "dur") > 0);  // no marks without length
    if (text_at(event, "pid") == "1" && text_at(event, "tid") == "2") {
      tp_bytes += number_at(event, "args.bytes");
    }
  }
  const int lanes = static_cast<int>(prediction.graph.lanes.size());
  for (const char* row : {"compute", "tp", "cp"}) CHECK(rows[row] == lanes);
  double expected = 0;
  for (const sim::Task& task : prediction.graph.tasks) {
    if (task.lane == 0) expected += prediction.graph.segments[task.segment].bytes[1];
  }
  CHECK(tp_bytes == Approx(expected));
  for (auto [thread, list] : slices_of(trace)) {
    std::sort(list.begin(), list.end(),
              [](const Slice& a, const Slice& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < list.size(); ++i) {
      CHECK(list[i].start >= list[i - 1].finish - 2e-3);  // microseconds; rounded to 1e-3
    }
  }
}

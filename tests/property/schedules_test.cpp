// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

struct Case {
  const Schedule* schedule;
  PipelineShape shape;
  Program program;
};

/// Every schedule of the registry on every shape it accepts with p <= 8, m <= 16, v <= 4.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (const Schedule& schedule : schedules()) {
      for (int p = 1; p <= 8; ++p) {
        for (int v = 1; v <= 4; ++v) {
          for (int m = 1; m <= 16; ++m) {
            const PipelineShape shape{p, v, m};
            try {
              list.push_back({&schedule, shape, schedule.build(shape)});
            } catch (const base::Error&) {
              // Not for this schedule; which shapes are refused is checked below.
            }
          }
        }
      }
    }
    return list;
  }();
  return all;
}

/// The schedules with looping placement and a whole backward, whose closed forms are checked here.
bool is_looping(const Case& c) {
  const std::string_view name = c.schedule->name;
  return name == "gpipe" || name == "1f1b" || name == "interleaved-1f1b" || name == "breadth-first";
}

std::string name_of(const Case& c) {
  return std::string(c.schedule->name) + " p" + std::to_string(c.shape.ranks) + " v" +
         std::to_string(c.shape.chunks) + " m" + std::to_string(c.shape.microbatches);
}

bool has_stage_time(const Pass& pass) {
  const std::string& n = pass.name;
  return n == "F" || n == "B" || n == "W" || n == "BW" || n == "R" || n == "U" || n == "N";
}

/// Stages of different speed, the same for the same seed; also of passes with names of their own.
StageTimes uneven_times(const Program& program, std::uint64_t seed) {
  base::Rng rng(seed);
  StageTimes times;
  for (int s = 0; s < program.stages; ++s) {
    times.stages.push_back({Seconds(rng.uniform(1, 2)), Seconds(rng.uniform(1, 2)),
                            Seconds(rng.uniform(0.5, 1)), base::Bytes(1 + s)});
  }
  times.hop = Seconds(rng.uniform(0, 0.5));
  for (const Pass& pass : program.passes) {
    if (has_stage_time(pass)) continue;
    times.others.push_back({pass.name, {}});
    for (int s = 0; s < program.stages; ++s) {
      times.others.back().seconds.push_back({Seconds(rng.uniform(1, 2))});
    }
  }
  return times;
}

/// Bytes held by each lane, replayed in time; ends at zero and never falls below it.
std::vector<double> replay_peaks(const TaskGraph& graph, const Timeline& timeline) {
  struct Change {
    double time;
    bool allocates;
    std::uint32_t lane;
    double bytes;
  };
  std::vector<Change> changes;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Segment& segment = graph.segments[graph.tasks[t].segment];
    for (const MemoryDelta& d : segment.at_start) {
      changes.push_back({timeline.start[t], true, graph.tasks[t].lane, d.bytes});
    }
    for (const MemoryDelta& d : segment.at_finish) {
      changes.push_back({timeline.finish[t], false, graph.tasks[t].lane, d.bytes});
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time < b.time || (a.time == b.time && !a.allocates && b.allocates);
  });
  std::vector<double> held(graph.lanes.size(), 0), peak = held;
  for (const Change& change : changes) {
    held[change.lane] += change.bytes;
    REQUIRE(held[change.lane] >= 0);
    peak[change.lane] = std::max(peak[change.lane], held[change.lane]);
  }
  for (const double bytes : held) REQUIRE(bytes == 0);
  return peak;
}

/// Messages a boundary has to hold: more than one where a rank sends its next ones before the
/// receiver has come to the first.
int slots_of(const Case& c) {
  // The last ranks are through a chunk of a group while the first ones, a backward behind, are not
  // ready for the next.
  if (c.schedule->name == "gis") return (c.shape.ranks + 1) / 2;
  // The first rank still runs forwards of a chunk when the last one begins to send to the next.
  if (c.schedule->name == "zeropp" && c.shape.chunks > 1) return 2;
  if (c.schedule->name == "rpd-pipedream") return c.shape.ranks;
  if (c.schedule->name == "amdp") return c.shape.ranks < 8 ? 4 : 8;  // two of every direction
  return 1;
}

}  // namespace

TEST_CASE("schedules refuse only the shapes they are not made for", "[sim]") {
  const auto accepted = [](const char* name) {
    return std::count_if(cases().begin(), cases().end(),
                         [&](const Case& c) { return c.schedule->name == name; });
  };
  CHECK(schedules().size() >= 4);
  CHECK(accepted("gpipe") == 8 * 16);
  CHECK(accepted("1f1b") == 8 * 16);
  CHECK(accepted("breadth-first") == 8 * 16 * 4);
  for (const char* one_stage :
       {"pipedream", "pipedream-2bw", "paci", "pipelined-backprop", "amdp", "rpd-pipedream"}) {
    CHECK(accepted(one_stage) == 8 * 16);
  }
  int groups = 0;  // (p, m) with m a multiple of p
  for (int p = 1; p <= 8; ++p) groups += 16 / p;
  CHECK(accepted("interleaved-1f1b") == 8 * 16 + 3 * groups);
  for (const char* even_ranks : {"chimera", "bitpipe"}) CHECK(accepted(even_ranks) == 4 * 16);
  for (const char* any : {"2bp", "skippipe", "pulse", "januspipe"}) CHECK(accepted(any) == 8 * 16);
  CHECK(accepted("hanayo") == 2 * 8 * 16);
  CHECK(accepted("zeropp") == 4 * 8 * 16);
  CHECK(accepted("dualpipe") == 7 + 5 + 3 + 1);  // 2p to 16 in twos, p = 2, 4, 6, 8
  CHECK(accepted("dualpipev") == 15 + 13 + 11 + 9 + 7 + 5 + 3 + 1);
}

TEST_CASE("every program is complete, runs and frees what it stores", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    REQUIRE(c.program.order.size() == static_cast<std::size_t>(c.shape.ranks));
    REQUIRE_NOTHROW(verify(c.program));
    if (!is_looping(c)) continue;
    for (std::size_t rank = 0; rank < c.program.order.size(); ++rank) {
      for (const Action& action : c.program.order[rank]) {
        REQUIRE(static_cast<std::size_t>(action.stage % c.shape.ranks) == rank);
      }
    }
  }
}

TEST_CASE("every program reads back from its text", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    REQUIRE(parse_program(to_text(c.program), "t") == c.program);
  }
}

TEST_CASE("one buffer slot per boundary is enough, but where a schedule says otherwise", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    const std::string_view name = c.schedule->name;
    if (name != "breadth-first" || c.shape.chunks == 1) {
      REQUIRE(required_buffers(c.program) <= slots_of(c));
    } else {
      // The first rank starts the next chunk after m microbatches; by then the last one has sent
      // all but those still on their way.
      REQUIRE(runs_with_buffers(c.program, std::max(1, c.shape.microbatches - c.shape.ranks + 1)));
    }
  }
}

// Senders keep what does not fit and go on (docs/formats.md, dispatch): the stricter rule above,
// under which they wait, is what some schedules need more than one slot for.
TEST_CASE("with receive buffers of one message every schedule comes to its end", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    const TaskGraph graph = timed(c.program, uneven_times(c.program, 23));
    const Timeline timeline = run_reference(graph, {models::Dispatch::Ready, 1, 0});
    REQUIRE(timeline.finish.size() == graph.tasks.size());
    double compute = 0;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      REQUIRE(timeline.finish[t] == Approx(timeline.start[t] + graph.tasks[t].seconds));
      compute += graph.tasks[t].stream == Stream::Compute ? graph.tasks[t].seconds : 0;
    }
    REQUIRE(timeline.makespan >= (1 - 1e-12) * compute / static_cast<double>(graph.lanes.size()));
  }
}

TEST_CASE("uniform stages take the time of the closed form", "[sim]") {
  const double forward = 1, backward = 2.25;
  for (const Case& c : cases()) {
    if (!is_looping(c)) continue;
    INFO(name_of(c));
    const int p = c.shape.ranks, v = c.shape.chunks, m = c.shape.microbatches;
    const double chunk = (forward + backward) / v;
    const StageTimes times = uniform_times(
        p * v, {Seconds(forward / v), Seconds(1.25 / v), Seconds(1.0 / v), base::Bytes(1)});
    const double makespan = run_reference(timed(c.program, times)).makespan;
    // Looping pipelines idle for (p-1) chunk passes; with m < p the chunks wait for each other:
    // each of the v rounds then takes p chunk passes.
    const double rounds = m >= p ? m * v : (v - 1) * p + m;
    REQUIRE(makespan == Approx((rounds + p - 1) * chunk).epsilon(1e-12));
  }
}

TEST_CASE("the makespan is at least the busiest rank and the longest chain", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    const StageTimes times = uneven_times(c.program, 17);
    const TaskGraph graph = timed(c.program, times);
    const Timeline timeline = run_reference(graph);
    std::vector<double> busy(graph.lanes.size() * kStreams, 0);
    for (const Task& task : graph.tasks) busy[stream_slot(task)] += task.seconds;
    for (const double seconds : busy) REQUIRE(timeline.makespan >= seconds - 1e-9);
    double chain = 0;  // of one microbatch there and back; W of a split backward is no part of it
    const bool split = c.program.passes.size() > 2;
    const ActionIndex index(c.program);
    Action forward, before;
    for (forward.stage = 0; forward.stage < c.program.stages; before = forward, ++forward.stage) {
      const StageTime& s = times.stages[static_cast<std::size_t>(forward.stage)];
      chain += s.forward.value + s.input_gradient.value + (split ? 0 : s.weight_gradient.value);
      const bool crosses = index.position(forward).rank != index.position(before).rank;
      chain += crosses ? 2 * times.hop.value : 0;
    }
    const bool both_ways = c.program.passes.size() > 1 && c.program.passes[0].last_stage < 0;
    if (both_ways) REQUIRE(timeline.makespan >= chain - 1e-9);
    REQUIRE(timeline.makespan == *std::max_element(timeline.finish.begin(), timeline.finish.end()));
  }
}

TEST_CASE("no action starts before what it needs has ended", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    const StageTimes times = uneven_times(c.program, 5);
    const TaskGraph graph = timed(c.program, times);
    const Timeline timeline = run_reference(graph);
    const ActionIndex index(c.program);
    std::vector<TaskId> task_of(index.keys());
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.kind == TaskKind::Action)
        task_of[index.key(c.program.order[task.lane][task.origin])] = t;
    }
    for (const auto& order : c.program.order) {
      for (const Action& action : order) {
        index.for_each_need(action, [&](const Action& need) {
          const bool remote = index.position(need).rank != index.position(action).rank;
          const double hop = remote ? times.hop.value : 0;
          REQUIRE(timeline.start[task_of[index.key(action)]] >=
                  timeline.finish[task_of[index.key(need)]] + hop - 1e-12);
        });
      }
    }
  }
}

TEST_CASE("times k scale the makespan by k", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    const StageTimes times = uneven_times(c.program, 23);
    StageTimes scaled = times;
    scaled.hop *= 3.5;
    for (StageTime& s : scaled.stages) {
      s.forward *= 3.5;
      s.input_gradient *= 3.5;
      s.weight_gradient *= 3.5;
    }
    for (PassTimes& other : scaled.others) {
      for (auto& seconds : other.seconds) seconds[0] *= 3.5;
    }
    const double before = run_reference(timed(c.program, times)).makespan;
    REQUIRE(run_reference(timed(c.program, scaled)).makespan ==
            Approx(3.5 * before).epsilon(1e-12));
  }
}

TEST_CASE("memory is never negative, ends at zero and peaks where the order says", "[sim]") {
  for (const Case& c : cases()) {
    INFO(name_of(c));
    StageTimes times = uneven_times(c.program, 31);
    for (StageTime& s : times.stages) s.activation = base::Bytes(1);
    const TaskGraph graph = timed(c.program, times);
    const std::vector<double> peaks = replay_peaks(graph, run_reference(graph));
    const std::vector<int> counted = peak_in_flight(c.program);
    for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
      REQUIRE(peaks[rank] == counted[rank]);
      REQUIRE(counted[rank] <= c.shape.microbatches * c.shape.chunks * c.program.slices);
    }
  }
}

TEST_CASE("ready dispatch keeps uniform programs within the busiest rank and the fixed order",
          "[sim]") {
  for (const Case& c : cases()) {
    if (!is_looping(c)) continue;
    INFO(name_of(c));
    const TaskGraph graph =
        timed(c.program, uniform_times(c.shape.stages(), {Seconds(1), Seconds(1), Seconds(1), {}}));
    const double ready = run_reference(graph, {models::Dispatch::Ready}).makespan;
    std::vector<double> busy(graph.lanes.size(), 0);
    for (const Task& task : graph.tasks) {
      if (task.kind == TaskKind::Action) busy[task.lane] += task.seconds;
    }
    REQUIRE(ready >= *std::max_element(busy.begin(), busy.end()) - 1e-9);
    REQUIRE(ready <= std::accumulate(busy.begin(), busy.end(), 0.0) + 1e-9);
  }
}

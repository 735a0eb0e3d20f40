// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/fill.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

double busy(const TaskGraph& graph) {
  double sum = 0;
  for (const Task& task : graph.tasks) sum += task.stream == Stream::Compute ? task.seconds : 0;
  return sum;
}

double bubble(const TaskGraph& graph, const Timeline& timeline) {
  return timeline.makespan * static_cast<double>(graph.lanes.size()) - busy(graph);
}

struct Base {
  Program program;
  StageTimes times;
  TaskGraph graph;
  Timeline timeline;
};

Base base_of(const char* name, int p, int chunks, int m, double hop = 0) {
  Base base;
  base.program = find_schedule(name, "t").build({p, chunks, m});
  base::Rng rng(7);
  for (int s = 0; s < p * chunks; ++s) {
    base.times.stages.push_back({Seconds(rng.uniform(1, 2)), Seconds(rng.uniform(1, 2)),
                                 Seconds(rng.uniform(0.5, 1)), base::Bytes(1)});
  }
  base.times.hop = Seconds(hop);
  base.graph = timed(base.program, base.times);
  base.timeline = run_reference(base.graph);
  return base;
}

Filled fill(const Base& base, const ForeignWork& work, bool in_order = false) {
  return fill_bubbles(base.program, base.graph, base.timeline, work, in_order);
}

double seconds_left(const ForeignWork& work, const Filled& filled) {
  double sum = 0;
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    for (const int piece : filled.left[rank])
      sum += work[rank][static_cast<std::size_t>(piece)].value;
  }
  return sum;
}

}  // namespace

TEST_CASE("packed work and the bubble that remains are the bubble of the base",
          "[sim][schedules]") {
  for (const char* name : {"gpipe", "1f1b", "breadth-first"}) {
    for (const bool in_order : {false, true}) {
      const Base base = base_of(name, 4, std::string(name) == "breadth-first" ? 2 : 1, 16, 0.125);
      base::Rng rng(11);
      ForeignWork work(4);
      double total = 0;
      for (auto& pieces : work) {
        for (int i = 0; i < 12; ++i) {
          pieces.emplace_back(rng.uniform(0.05, 2.5));
          total += pieces.back().value;
        }
      }
      const Filled filled = fill(base, work, in_order);
      verify(filled.program);
      StageTimes times = base.times;
      times.others = {filled.times};
      const TaskGraph graph = timed(filled.program, times);
      const Timeline timeline = run_reference(graph);
      INFO(name);
      CHECK(timeline.makespan == Approx(base.timeline.makespan).epsilon(1e-9));
      const double packed = total - seconds_left(work, filled);
      CHECK(packed > 0);
      CHECK(packed + bubble(graph, timeline) == Approx(bubble(base.graph, base.timeline)));
      CHECK(peak_in_flight(filled.program) == peak_in_flight(base.program));
    }
  }
}

TEST_CASE("pieces as long as the bubble fill it", "[sim][schedules]") {
  // 1F1B, F = 1, BW = 2: rank r waits r before its first action and after its last.
  const Program program = find_schedule("1f1b", "t").build({4, 1, 16});
  StageTimes times = uniform_times(4, {Seconds(1), Seconds(1), Seconds(1), {}});
  const TaskGraph graph = timed(program, times);
  const Timeline timeline = run_reference(graph);
  const Filled filled = fill_bubbles(program, graph, timeline,
                                     ForeignWork(4, std::vector<Seconds>(20, Seconds(1))), true);
  times.others = {filled.times};
  const TaskGraph full = timed(filled.program, times);
  const Timeline after = run_reference(full);
  CHECK(after.makespan == Approx(timeline.makespan).epsilon(1e-9));
  CHECK(bubble(full, after) == Approx(0).margin(1e-6));
  for (const auto& left : filled.left) CHECK(left.size() == 11);  // 9 s of bubble per rank
}

TEST_CASE("work that fits nowhere stays where it was", "[sim][schedules]") {
  const Base base = base_of("1f1b", 4, 1, 8);
  const Filled filled = fill(base, ForeignWork(4, {Seconds(1000), Seconds(2000)}));
  CHECK(filled.program.order == base.program.order);
  for (const auto& left : filled.left) CHECK(left == std::vector<int>{0, 1});
  // In order, a long piece holds up the short one behind it.
  CHECK(fill(base, ForeignWork(4, {Seconds(1000), Seconds(0.1)}), true).program.order ==
        base.program.order);
  CHECK(fill(base, ForeignWork(4, {Seconds(1000), Seconds(0.1)})).program.order !=
        base.program.order);
}

TEST_CASE("foreign work is checked", "[sim][schedules]") {
  const Base base = base_of("1f1b", 2, 1, 2);
  CHECK_THROWS_AS(fill(base, ForeignWork(3)), base::Error);
  CHECK_THROWS_AS(fill(base, {{Seconds(-1)}, {}}), base::Error);
  CHECK_THROWS_AS(fill(base, {{Seconds(std::nan(""))}, {}}), base::Error);
  const ForeignWork many(2, std::vector<Seconds>(100, Seconds(1e-3)));
  CHECK_THROWS_AS(fill(base, many), base::Error);
  const Filled once = fill(base, {{Seconds(0.1)}, {}});
  CHECK_THROWS_AS(fill_bubbles(once.program, base.graph, base.timeline, ForeignWork(2)),
                  base::Error);
}

// SPDX-License-Identifier: Apache-2.0
// Schedules without a flush: delays and versions from the papers' formulas, counted in the order.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/staleness.hpp"
#include "sim/steady.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

PipelineShape shape_of(int ranks, int microbatches, int update_every = 0) {
  PipelineShape shape{ranks, 1, microbatches};
  shape.options.update_every = update_every;
  return shape;
}

/// F and BW take one slot each.
StageTimes unit_slots(int stages) {
  return uniform_times(stages, {Seconds(1), Seconds(1), Seconds(0), {}});
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

std::vector<int> microbatches_of(const Program& program, std::size_t rank, const char* pass,
                                 int first, int last) {
  std::vector<int> found;
  for (const Action& a : program.order[rank]) {
    if (program.passes[a.pass].name == pass && a.microbatch >= first && a.microbatch <= last)
      found.push_back(a.microbatch - first);
  }
  return found;
}

}  // namespace

TEST_CASE("PipeDream's gradients are one update late per stage behind, on stashed weights",
          "[sim]") {
  for (const int p : {1, 2, 3, 4, 8, 16}) {
    const Program program = pipedream(shape_of(p, 4 * p));
    verify(program);
    const Staleness s = staleness(program);
    CHECK(s.max == p - 1);
    CHECK(s.mismatch == 0);
    CHECK(s.mean == Approx((p - 1) / 2.0).margin(0.5));  // fewer gradients count on early stages
    for (int stage = 0; stage < p; ++stage) {
      const auto at = static_cast<std::size_t>(stage);
      CHECK(s.delay_by_stage[at] == p - 1 - stage);
      CHECK(s.versions[at] == p - stage);
    }
  }
}

TEST_CASE("PipeDream-2BW is exactly one update late on two versions at any depth", "[sim]") {
  for (const int p : {2, 3, 4, 8, 16}) {
    for (const int every : {0, p, p + 1, 2 * p, 3 * p}) {
      const int batch = every == 0 ? p : every;
      const Program program = pipedream_2bw(shape_of(p, 6 * batch, every));
      verify(program);
      const Staleness s = staleness(program);
      REQUIRE(s.histogram.size() == 2);
      CHECK(s.histogram[0] == 0);
      CHECK(s.histogram[1] > 0);
      CHECK(s.mean == 1);
      CHECK(s.mismatch == 0);
      for (const int versions : s.versions) CHECK(versions == 2);
    }
  }
  CHECK_THROWS_WITH(pipedream_2bw(shape_of(8, 64, 7)), Catch::Contains("at least 8"));
}

TEST_CASE("delayed reads of versions that do not exist yet are refused", "[sim]") {
  Program program = pipedream(shape_of(4, 16));
  program.weights = Weights::Delayed;
  CHECK_THROWS_WITH(staleness(program), Catch::Contains("updates"));
}

TEST_CASE("PACI crosses no more updates than its window lets through, on one copy", "[sim]") {
  for (const int p : {2, 4, 8, 16}) {
    for (const int every : {1, 2, 3, p - 1, p, 2 * p}) {
      const Program program = paci(shape_of(p, 6 * std::max(p, every), every));
      verify(program);
      const Staleness s = staleness(program);
      for (int stage = 0; stage < p; ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        CHECK(s.mismatch_by_stage[at] <= ceil_div(p - 1 - stage, every));
        CHECK(s.delay_by_stage[at] <= ceil_div(p - 1 - stage, every));
        CHECK(s.versions[at] == 1);
      }
      CHECK(s.mismatch_by_stage.front() == ceil_div(p - 1, every));  // reached
    }
  }
}

TEST_CASE("pipelined backpropagation is two updates late per stage behind", "[sim]") {
  for (const int p : {1, 2, 4, 8, 16}) {
    const Program program = pipelined_backprop(shape_of(p, 6 * p));
    verify(program);
    const Staleness s = staleness(program);
    const std::vector<int> peak = peak_in_flight(program);
    for (int stage = 0; stage < p; ++stage) {
      const auto at = static_cast<std::size_t>(stage);
      CHECK(s.delay_by_stage[at] == 2 * (p - 1 - stage));
      CHECK(s.mismatch_by_stage[at] == 2 * (p - 1 - stage));
      CHECK(s.versions[at] == 1);
      CHECK(peak[at] == 2 * (p - 1 - stage) + 1);
    }
  }
}

TEST_CASE("schedules without a flush hold what 1F1B holds", "[sim]") {
  for (int p = 1; p <= 16; ++p) {
    for (const int m : {1, 2, 3, p, 2 * p, 64}) {
      for (const auto build : {pipedream, pipedream_2bw, paci}) {
        const std::vector<int> peak = peak_in_flight(build(shape_of(p, m)));
        for (int s = 0; s < p; ++s) CHECK(peak[static_cast<std::size_t>(s)] == std::min(p - s, m));
      }
      const std::vector<int> samples = peak_in_flight(pipelined_backprop(shape_of(p, m)));
      for (int s = 0; s < p; ++s)
        CHECK(samples[static_cast<std::size_t>(s)] == std::min(2 * (p - 1 - s) + 1, m));
    }
  }
}

// seeds of the claim: "Demystifying Pipeline Parallelism" (Randomized PipeDream) states S^2 - S/2 +
// O(1) for the largest delay of steady-state PipeDream.
TEST_CASE("PipeDream's delay in block updates grows with the square of the stages", "[sim]") {
  for (int stages = 2; stages <= 32; ++stages) {
    const Program program = pipedream(shape_of(stages, 12 * stages));
    const TaskGraph graph = timed(program, unit_slots(stages));
    const BlockDelay delay = block_delay(program, graph, run_reference(graph));
    CAPTURE(stages);
    CHECK(delay.max == stages * stages - (stages + 1) / 2);  // floor(S^2 - S/2)
    CHECK(delay.mean == Approx((stages * stages - 1) / 2.0).epsilon(1e-12));
  }
}

TEST_CASE("AMDP's steady orders of four ranks are the published ones", "[sim]") {
  // github.com/Vinsmoke86/AMDP, async_schedules.py, p = 4 in two directions, microbatches 0..3 of
  // a round, rank by rank.
  const std::vector<std::vector<int>> forward = {
      {0, 2, 1, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {1, 3, 0, 2}};
  const std::vector<std::vector<int>> backward = {
      {1, 3, 0, 2}, {1, 0, 3, 2}, {0, 1, 2, 3}, {0, 2, 1, 3}};
  const Program program = amdp(shape_of(4, 48));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (int round = 0; round < 12; ++round) {
      CHECK(microbatches_of(program, rank, "F", 4 * round, 4 * round + 3) == forward[rank]);
      CHECK(microbatches_of(program, rank, "BW", 4 * round, 4 * round + 3) == backward[rank]);
    }
  }
}

TEST_CASE("AMDP admits two microbatches per pipeline and is at most one update late", "[sim]") {
  for (const int p : {2, 3, 4, 6, 8, 12, 16}) {
    for (const int directions : {2, 4}) {
      if (directions == 4 && (p < 4 || p % 2 != 0)) continue;
      PipelineShape shape = shape_of(p, 64);
      shape.options.directions = directions;
      const Program program = amdp(shape);
      CAPTURE(p, directions);
      verify(program);
      const Staleness s = staleness(program);
      CHECK(s.max <= 1);
      CHECK(s.mismatch <= 1);
      for (const int held : peak_in_flight(program)) CHECK(held <= 2 * directions);
    }
  }
}

TEST_CASE("AMDP says which directions and windows there are", "[sim]") {
  PipelineShape shape = shape_of(5, 20);
  shape.options.directions = 4;
  CHECK_THROWS_WITH(amdp(shape), Catch::Contains("even number of ranks"));
  shape.options.directions = 3;
  CHECK_THROWS_AS(amdp(shape), base::Error);
  shape = shape_of(8, 32, 6);
  CHECK_THROWS_WITH(amdp(shape), Catch::Contains("nearest: 4 or 8"));
  shape.options.update_every = 8;
  CHECK_NOTHROW(amdp(shape));
}

TEST_CASE("Randomized PipeDream is the same for the same seed and keeps to its limits", "[sim]") {
  for (const int p : {1, 2, 4, 8}) {
    PipelineShape shape = shape_of(p, 200);
    shape.options.seed = 7;
    const Program program = rpd_pipedream(shape);
    verify(program);
    CHECK(rpd_pipedream(shape) == program);
    if (p > 1) {
      shape.options.seed = 8;
      CHECK_FALSE(rpd_pipedream(shape) == program);
    }
    CHECK(required_buffers(program) <= p);
    for (const int held : peak_in_flight(program)) CHECK(held <= p);
    const Staleness s = staleness(program);
    CHECK(s.mismatch == 0);
    if (p > 1) CHECK(s.max >= p - 1);  // random orders are now and then later than PipeDream's
  }
}

TEST_CASE("a step without a flush takes its work, fill left out", "[sim]") {
  const StageTime time{Seconds(1), Seconds(1.25), Seconds(0.75), {}};
  for (const auto build : {pipedream, pipedream_2bw, paci, pipelined_backprop}) {
    for (const int p : {1, 2, 4, 8, 16}) {
      for (const int m : {1, 4, 12}) {
        const Program program = build(shape_of(p, steady_microbatches(p, m, p)));
        const TaskGraph graph = timed(program, uniform_times(p, time));
        const Timeline timeline = run_reference(graph);
        CHECK(steady_period(program, graph, timeline, m) == Approx(m * 3.0).epsilon(1e-12));
        CHECK(timeline.makespan >= program.microbatches * 3.0 + (p - 1) * 3.0 - 1e-9);
      }
    }
  }
}

TEST_CASE("updates and the slowest stage set the period", "[sim]") {
  const int p = 4, m = 8;
  StageTimes times = uniform_times(p, {Seconds(1), Seconds(1), Seconds(1), {}});
  times.stages[2].forward = Seconds(2);
  times.others = {{"U", {{Seconds(0.5)}}}};
  const Program program = paci(shape_of(p, steady_microbatches(p, m, 4), 4));
  const TaskGraph graph = timed(program, times);
  // eight microbatches of 4 s on stage 2, and two updates
  CHECK(steady_period(program, graph, run_reference(graph), m) == Approx(33).epsilon(1e-12));
  CHECK_THROWS_WITH(steady_period(program, graph, run_reference(graph), program.microbatches),
                    Catch::Contains("fewer than two"));
}

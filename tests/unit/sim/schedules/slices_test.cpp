// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/slices.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.hpp"
#include "tests/unit/sim/schedules/evaluate.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;
using test::makespan;

namespace {

PipelineShape sliced(int ranks, int microbatches, int slices) {
  PipelineShape shape{ranks, 1, microbatches};
  shape.options.slices = slices;
  return shape;
}

/// All ways to cut `steps` steps, as a bit mask of where a slice ends.
double least_by_trial(int length, int step, int stages, const SliceCost& cost) {
  const int steps = (length + step - 1) / step;
  double best = 1e300;
  for (int mask = 0; mask < (1 << (steps - 1)); ++mask) {
    std::vector<int> lengths;
    int start = 0;
    for (int end = 1; end <= steps; ++end) {
      if (end < steps && (mask >> (end - 1) & 1) == 0) continue;
      lengths.push_back(std::min(end * step, length) - start);
      start += lengths.back();
    }
    best = std::min(best, sliced_seconds(lengths, stages, cost));
  }
  return best;
}

/// A fixed part, one per token and one per pair of tokens that attend to each other.
double attention_cost(int start, int length) {
  return 3 + 0.5 * length + 0.02 * length * (start + 0.5 * length);
}

}  // namespace

TEST_CASE("seq1f1b holds p - s - 1 + k slices on stage s", "[sim][schedules]") {
  for (const int p : {1, 2, 4, 7, 16}) {
    for (const int m : {1, 2, 5, 16, 64}) {
      for (const int k : {1, 2, 4, 8}) {
        const Program program = find_schedule("seq1f1b", "t").build(sliced(p, m, k));
        verify(program);
        const std::vector<int> peak = peak_in_flight(program);
        for (int s = 0; s < p; ++s) {
          INFO("p " << p << " m " << m << " k " << k << " stage " << s);
          CHECK(peak[static_cast<std::size_t>(s)] == std::min(p - s - 1 + k, m * k));
        }
        CHECK(required_buffers(program) == (p > 1 ? 1 : required_buffers(program)));
      }
    }
  }
}

TEST_CASE("seq1f1b with one slice is 1f1b", "[sim][schedules]") {
  const Program sliced_order = find_schedule("seq1f1b", "t").build(sliced(4, 8, 1));
  CHECK(sliced_order.order == find_schedule("1f1b", "t").build({4, 1, 8}).order);
}

TEST_CASE("the bubble of seq1f1b is that of 1f1b over the slices", "[sim][schedules]") {
  const double f = 1, bw = 2;
  for (const int p : {2, 4, 8}) {
    for (const int k : {1, 2, 4}) {
      const Program program = find_schedule("seq1f1b", "t").build(sliced(p, 2 * p, k));
      const StageTimes times =
          uniform_times(p, {Seconds(f / k), Seconds(1.0 / k), Seconds(1.0 / k), {}});
      INFO("p " << p << " k " << k);
      CHECK(makespan(program, times) == Approx(2 * p * (f + bw) + (p - 1) * (f + bw) / k));
    }
  }
}

TEST_CASE("backward goes through the slices of a microbatch in reverse", "[sim][schedules]") {
  for (const char* name : {"seq1f1b", "terapipe"}) {
    Program program = find_schedule(name, "t").build(sliced(2, 2, 3));
    REQUIRE(program.passes[1].slices == Direction::Up);
    auto& order = program.order[1];
    const auto back =
        std::find_if(order.begin(), order.end(), [](const Action& a) { return a.pass == 1; });
    CHECK(back->slice == 2);
    std::swap(*back,
              *std::find_if(back + 1, order.end(), [](const Action& a) { return a.pass == 1; }));
    CHECK_THROWS_AS(verify(program), base::Error);
  }
}

TEST_CASE("terapipe takes sum t + (K - 1) max t each way, whatever the slices cost",
          "[sim][schedules]") {
  for (const int stages : {1, 3, 8}) {
    const Program program = find_schedule("terapipe", "t").build(sliced(stages, 2, 4));
    verify(program);
    StageTimes times = uniform_times(stages, {Seconds(1), Seconds(1.25), Seconds(1), {}});
    times.slice_scale = {0.5, 2, 1, 1.75};
    const double sum = 2 * 5.25, longest = 2;
    CHECK(makespan(program, times) == Approx((sum + (stages - 1) * longest) * 3.25));
    CHECK(peak_in_flight(program) == std::vector<int>(static_cast<std::size_t>(stages), 8));
  }
}

TEST_CASE("the slice search finds the best of all cuts", "[sim][schedules]") {
  for (const int stages : {1, 2, 4, 16}) {
    for (const int length : {1, 7, 96, 101}) {
      const int step = 8;
      const std::vector<int> lengths = best_slice_lengths(length, step, stages, attention_cost);
      INFO("stages " << stages << " length " << length);
      CHECK(std::accumulate(lengths.begin(), lengths.end(), 0) == length);
      CHECK(sliced_seconds(lengths, stages, attention_cost) ==
            Approx(least_by_trial(length, step, stages, attention_cost)));
    }
  }
  // Costs without any structure.
  const SliceCost jagged = [](int start, int length) {
    return 1 + (start * 7 + length * length * 13) % 31;
  };
  const std::vector<int> lengths = best_slice_lengths(96, 8, 5, jagged);
  CHECK(sliced_seconds(lengths, 5, jagged) == Approx(least_by_trial(96, 8, 5, jagged)));
}

TEST_CASE("the slice search loses no more than its tolerance", "[sim][schedules]") {
  const int stages = 12;
  const double exact =
      sliced_seconds(best_slice_lengths(512, 4, stages, attention_cost), stages, attention_cost);
  const double coarse = sliced_seconds(best_slice_lengths(512, 4, stages, attention_cost, 2.0),
                                       stages, attention_cost);
  CHECK(coarse >= exact);
  CHECK(coarse <= exact + (stages - 1) * 2.0);
}

TEST_CASE("later slices are shorter where attention costs", "[sim][schedules]") {
  const std::vector<int> lengths = best_slice_lengths(256, 4, 16, attention_cost);
  REQUIRE(lengths.size() > 2);
  CHECK(lengths.front() > lengths[lengths.size() - 2]);
  // One stage has no bubble to balance: as few slices as the fixed part suggests.
  CHECK(best_slice_lengths(256, 4, 1, attention_cost).size() == 1);
}

TEST_CASE("the slice search refuses what it cannot search", "[sim][schedules]") {
  CHECK_THROWS_AS(best_slice_lengths(0, 8, 4, attention_cost), base::Error);
  CHECK_THROWS_AS(best_slice_lengths(8, 0, 4, attention_cost), base::Error);
  CHECK_THROWS_AS(best_slice_lengths(1 << 20, 8, 4, attention_cost), base::Error);
  const SliceCost negative = [](int, int) { return -1.0; };
  CHECK_THROWS_AS(best_slice_lengths(64, 8, 4, negative), base::Error);
}

TEST_CASE("slices of a count no program can hold are refused", "[sim][schedules]") {
  CHECK_THROWS_AS(find_schedule("seq1f1b", "t").build(sliced(4, 4, 100'000)), base::Error);
  CHECK_THROWS_AS(find_schedule("terapipe", "t").build(sliced(1000, 1000, 1000)), base::Error);
  StageTimes times = uniform_times(2, {Seconds(1), Seconds(1), Seconds(1), {}});
  times.slice_scale = {1, 1, 1};
  CHECK_THROWS_AS(timed(find_schedule("terapipe", "t").build(sliced(2, 2, 2)), times), base::Error);
}

TEST_CASE("forward-only fills the pipeline once and stores nothing", "[sim][schedules]") {
  const Program program = find_schedule("forward-only", "t").build({4, 2, 8});
  verify(program);
  CHECK(peak_in_flight(program) == std::vector<int>(4, 0));
  CHECK(makespan(program, uniform_times(8, {Seconds(0.5), {}, {}, {}})) == Approx(0.5 * (16 + 3)));
}

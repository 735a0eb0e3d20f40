// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/schedules/pulse.hpp"
#include "tests/unit/sim/schedules/evaluate.hpp"

using namespace paceline;
using namespace paceline::sim;
using namespace paceline::sim::test;
using base::Seconds;

namespace {

/// FE, FF, BF and BE of a rank.
StageTimes four_pass_times(int stages, const std::vector<double>& seconds) {
  StageTimes times = uniform_times(stages, {{}, {}, {}, base::Bytes(1)});
  const char* const names[] = {"FE", "FF", "BF", "BE"};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    times.others.push_back({names[i], {{Seconds(seconds[i])}}});
  }
  return times;
}

}  // namespace

TEST_CASE("hanayo turns at the ends of the ranks", "[sim]") {
  const Program program = hanayo({2, 4, 2});
  CHECK(line_of(program, 0) ==
        "0F0 0F1 3F0 4F0 3F1 4F1 7F0 7BW0 7F1 7BW1 4BW0 3BW0 4BW1 3BW1 0BW0 0BW1");
  CHECK(line_of(program, 1).substr(0, 15) == "1F0 2F0 1F1 2F1");
  CHECK(error_of("hanayo", {4, 3, 4}).find("nearest: 2 or 4") != std::string::npos);
}

TEST_CASE("hanayo takes the time of a pipeline with 2W chunks", "[sim]") {
  for (const int p : {4, 8, 16}) {
    for (const int waves : {1, 2, 4}) {
      for (const int units : {1, 2, 4}) {
        INFO("P " << p << " W " << waves << " units " << units);
        const int n = units * p;
        CHECK(makespan("hanayo", {p, 2 * waves, n}, 1, 0.5, 0.5) ==
              Approx(2 * n + (p - 1) * 2 / (2.0 * waves)));
      }
    }
  }
  // Backwards twice as long: what a greedy order gives for one unit.
  CHECK(makespan("hanayo", {8, 2, 8}, 1, 1, 1) == 38);
  CHECK(makespan("hanayo", {8, 4, 8}, 1, 1, 1) == 31.5);
  CHECK(makespan("hanayo", {8, 8, 8}, 1, 1, 1) == 27.75);
}

TEST_CASE("hanayo holds at most one microbatch per rank", "[sim]") {
  for (const int p : {4, 8, 16}) {
    for (const int m : {p, 2 * p, 64}) {
      CHECK(peaks(hanayo({p, 2, m}), 2) == std::pair((p + 1) / 2.0, double(p)));
      CHECK(peaks(hanayo({p, 8, m}), 8).second == p);
    }
  }
}

TEST_CASE("pulse puts mirrored stages on one rank and is no longer than a wave", "[sim]") {
  for (const int m : {1, 7, 8, 32}) {
    const Program program = pulse({8, 2, m});
    for (std::size_t rank = 0; rank < 8; ++rank) {
      for (const Action& a : program.order[rank]) {
        CHECK((a.stage == static_cast<int>(rank) || a.stage == 15 - static_cast<int>(rank)));
      }
    }
    CHECK(peaks(program, 2).second <= std::min(m, 8));
    CHECK(makespan("pulse", {8, 2, m}, 1, 1, 1) <= makespan("hanayo", {8, 2, m}, 1, 1, 1));
  }
  PipelineShape wider{8, 2, 32};
  wider.options.memory_limit = 16;
  CHECK(makespan("pulse", wider, 1, 1, 1) < makespan("pulse", {8, 2, 32}, 1, 1, 1));
}

TEST_CASE("a mirrored partition balances ranks and keeps skip connections inside", "[sim]") {
  // Pairs from the outside in: 8, 1, 1 and 6, the middle layer 2 with the last: 9 on each rank.
  const std::vector<double> seconds{4, 0.5, 0.5, 4, 2, 2, 0.5, 0.5, 4};
  CHECK(mirrored_partition(seconds, 2) == std::vector<int>{0, 2, 4, 7, 9});
  CHECK(mirrored_partition(seconds, 1) == std::vector<int>{0, 4, 9});
  CHECK(mirrored_partition(seconds, 4) == std::vector<int>{0, 1, 2, 3, 4, 6, 7, 8, 9});
  const std::vector<double> bytes{100, 10, 10, 1};
  const std::vector<int> first = mirrored_partition(seconds, 2);
  CHECK(skip_bytes(first, std::vector<int>{0, 1, 1, 0}, bytes) == 0);
  // One stage after another: the first two cross three boundaries, the others one.
  CHECK(skip_bytes(first, std::vector<int>{0, 1, 2, 3}, bytes) == 341);
  CHECK_THROWS_AS(mirrored_partition(seconds, 5), base::Error);
  CHECK_THROWS_AS(mirrored_partition(std::vector<double>{1, -1}, 1), base::Error);
}

TEST_CASE("a mirrored partition is the best of all", "[sim]") {
  const std::vector<double> seconds{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  std::vector<double> pairs;
  for (std::size_t i = 0; i < 6; ++i) pairs.push_back(seconds[i] + seconds[11 - i]);
  double best = 1e9;
  for (std::size_t a = 1; a < 5; ++a) {
    for (std::size_t b = a + 1; b < 6; ++b) {
      double load[3] = {0, 0, 0};
      for (std::size_t i = 0; i < 6; ++i) load[i < a ? 0 : i < b ? 1 : 2] += pairs[i];
      best = std::min(best, *std::max_element(load, load + 3));
    }
  }
  const std::vector<int> first = mirrored_partition(seconds, 3);
  double slowest = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    double load = 0;
    for (const std::size_t stage : {rank, 5 - rank}) {
      for (int i = first[stage]; i < first[stage + 1]; ++i) load += seconds[std::size_t(i)];
    }
    slowest = std::max(slowest, load);
  }
  CHECK(slowest == best);
}

TEST_CASE("januspipe passes the stages four times", "[sim]") {
  const Program program = januspipe({2, 1, 2});
  CHECK_NOTHROW(verify(program));
  CHECK(line_of(program, 0) == "0FE0 0FE1 0FF0 0BF0 0FF1 0BF1 0BE0 0BE1");
  CHECK(parse_program(to_text(program), "t") == program);
}

TEST_CASE("januspipe holds no more than a unit and gains from larger ones", "[sim]") {
  double before = 1e9;
  for (const int unit : {1, 2, 4, 8, 16}) {
    PipelineShape shape{8, 1, 32};
    shape.options.group = unit;
    shape.times = four_pass_times(8, {1, 1.2, 2.5, 2});
    const Program program = januspipe(shape);
    verify(program);
    CHECK(peaks(program, 1).second == unit);
    const double time = makespan(program, shape.times);
    CHECK(time >= 32 * 6.7);
    CHECK(time <= before);
    before = time;
    if (unit == 1) CHECK(time == Approx(32 * 8 * 6.7));  // one microbatch at a time
  }
}

// SPDX-License-Identifier: Apache-2.0
// The V family of Qi et al., "Pipeline Parallelism with Controllable Memory" (2024), and the groups
// of PipeOffload (Wan et al., 2025), F, B and W taking 1 per rank, hops nothing. Numbers are those
// of the authors' orders (github.com/sail-sg/zero-bubble-pipeline-parallelism and PipeOffload).
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tests/unit/sim/schedules/timing.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

struct Known {
  int p, m;
  const char* name;
  double longest, makespan, peak;
};

constexpr Known kKnown[] = {
    {4, 8, "zb-v", 24.0, 25.5, 4.0},      {4, 8, "v-half", 26.5, 26.5, 3.0},
    {4, 8, "v-min", 29.5, 29.5, 2.0},     {4, 8, "1f1b-v", 31.5, 31.5, 3.0},
    {4, 16, "zb-v", 48.0, 49.5, 4.0},     {4, 16, "v-half", 50.5, 50.5, 3.0},
    {4, 16, "v-min", 53.5, 53.5, 2.0},    {4, 16, "1f1b-v", 55.5, 55.5, 3.0},
    {8, 16, "zb-v", 48.0, 51.5, 8.0},     {8, 16, "v-half", 56.5, 56.5, 5.0},
    {8, 16, "v-min", 61.5, 61.5, 4.0},    {8, 16, "1f1b-v", 64.5, 64.5, 6.0},
    {8, 32, "zb-v", 96.0, 99.5, 8.0},     {8, 32, "v-half", 104.5, 104.5, 5.0},
    {8, 32, "v-min", 109.5, 109.5, 4.0},  {8, 32, "1f1b-v", 112.5, 112.5, 6.0},
    {16, 32, "zb-v", 96.0, 103.5, 16.0},  {16, 32, "v-half", 116.5, 116.5, 9.0},
    {16, 32, "v-min", 125.5, 125.5, 6.0}, {16, 32, "1f1b-v", 133.5, 133.5, 11.0},
};

Program build(const char* name, const PipelineShape& shape) {
  Program program = find_schedule(name, "").build(shape);
  verify(program);
  return program;
}

PipelineShape grouped(int p, int v, int m, int group) {
  PipelineShape shape{p, v, m};
  shape.options.group = group;
  return shape;
}

}  // namespace

TEST_CASE("the V family has the known spans and peaks", "[golden]") {
  for (const Known& known : kKnown) {
    INFO(known.name << " p " << known.p << " m " << known.m);
    const PipelineShape shape{known.p, 2, known.m};
    const Program program = build(known.name, shape);
    const Span span = span_of(program, unit_times(shape));
    CHECK(span.longest == Approx(known.longest));
    CHECK(span.makespan == Approx(known.makespan));
    CHECK(peak_units(program) == Approx(known.peak));
  }
}

TEST_CASE("the V family holds a half, a third and two thirds of the microbatches", "[sim]") {
  for (int p = 1; p <= 16; ++p) {
    for (const int m : {1, 2, 3, 7, 16, 32, 64}) {
      INFO("p " << p << " m " << m);
      const double half = peak_units(build("v-half", {p, 2, m}));
      const double third = peak_units(build("v-min", {p, 2, m}));
      const double two_thirds = peak_units(build("1f1b-v", {p, 2, m}));
      CHECK(half <= (p + 2) / 2);
      CHECK(third <= (p + 4) / 3);
      // Slots that repeat every six passes leave multiples of three half a microbatch more.
      const double whole = (2 * p + 2) / 3 + (p % 3 == 0 ? 0.5 : 0);
      CHECK(two_thirds <= whole);
      if (m < 2 * p) continue;
      CHECK(half == (p + 2) / 2);
      CHECK(third == (p + 4) / 3);
      CHECK(two_thirds == whole);
    }
  }
}

TEST_CASE("the V family turns on the last rank and ends on the first", "[sim]") {
  for (const char* name : {"zb-v", "v-half", "v-min", "1f1b-v"}) {
    const Program program = build(name, {4, 2, 5});
    for (std::size_t rank = 0; rank < 4; ++rank) {
      for (const Action& action : program.order[rank]) {
        const bool mine =
            action.stage == static_cast<int>(rank) || action.stage == 7 - static_cast<int>(rank);
        REQUIRE(mine);
      }
    }
    CHECK_THROWS_WITH(build(name, {4, 3, 5}), Catch::Contains("set chunks to 2"));
  }
}

TEST_CASE("gis idles and holds what its group says", "[golden]") {
  struct Group {
    int chunks, group;
    double bubble, peak;
  };
  for (const Group& known :
       {Group{2, 8, 7.0, 8.0}, Group{3, 8, 14.0 / 3, 8.0}, Group{4, 8, 3.5, 8.0},
        Group{2, 4, 9.0, 6.0}, Group{3, 4, 22.0 / 3, 16.0 / 3}, Group{4, 4, 6.5, 5.0}}) {
    for (const int m : {16, 32}) {
      INFO("chunks " << known.chunks << " group " << known.group << " m " << m);
      const PipelineShape shape = grouped(8, known.chunks, m, known.group);
      const Program program = build("gis", shape);
      CHECK(span_of(program, unit_times(shape)).makespan == Approx(3 * m + known.bubble));
      CHECK(peak_units(program) == Approx(known.peak));
    }
  }
}

TEST_CASE("gis holds group (v - 1) + p chunks on the first rank and one less on each next",
          "[sim]") {
  for (int p = 1; p <= 16; ++p) {
    for (int group = (p + 1) / 2; group <= p; ++group) {
      for (int v = 1; v <= 3; ++v) {
        for (int m = group; m <= 64; m += 3 * group) {
          INFO("p " << p << " v " << v << " m " << m << " group " << group);
          const std::vector<int> peaks = peak_in_flight(build("gis", grouped(p, v, m, group)));
          for (int rank = 0; rank < p; ++rank) {
            CHECK(peaks[static_cast<std::size_t>(rank)] ==
                  std::min(v * m, group * (v - 1) + p - rank));
          }
        }
      }
    }
  }
}

TEST_CASE("gis says which groups it takes", "[sim]") {
  CHECK_THROWS_WITH(gis(grouped(8, 2, 24, 3)),
                    Catch::Contains("group of 3") && Catch::Contains("from 4"));
  CHECK_THROWS_WITH(gis(grouped(8, 2, 24, 9)), Catch::Contains("to 8"));
  CHECK_THROWS_WITH(gis(grouped(8, 2, 24, 5)), Catch::Contains("20 or 25"));
  CHECK_THROWS_WITH(gis({8, 2, 12}), Catch::Contains("8 or 16"));
  CHECK_NOTHROW(gis(grouped(7, 2, 12, 4)));
}

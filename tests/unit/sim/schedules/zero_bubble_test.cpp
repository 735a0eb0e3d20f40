// SPDX-License-Identifier: Apache-2.0
// Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024). Stage times and bubble rates of
// github.com/sail-sg/zero-bubble-pipeline-parallelism, branch arxiv, efficiency.py: microseconds,
// rate = 1 - m (F + B + W) / time. zb-h1 and zb-h2 are the file's result table; zb-1p and zb-2p the
// same table, from the authors' scheduler. Its memory model: F adds 34 h + 5 a s, of which W frees
// 32 h and B the rest (s = 1024).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"
#include "tests/unit/sim/schedules/timing.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

struct Row {
  int p, m;
  double forward, input_gradient, weight_gradient, hop;
  int hidden, heads;
  double h1, h2, limit_1p, limit_2p;
  double work() const { return m * (forward + input_gradient + weight_gradient); }
};

constexpr Row kRows[] = {
    {8, 24, 18522, 18086, 9337, 601, 2304, 24, 0.1585, 0.1083, 0.1585, 0.0433},
    {8, 32, 18513, 18086, 9331, 626, 2304, 24, 0.1242, 0.0837, 0.1242, 0.0039},
    {8, 64, 18546, 18097, 9321, 762, 2304, 24, 0.0674, 0.0444, 0.0674, 0.0026},
    {8, 24, 29718, 29444, 19927, 527, 4096, 32, 0.1323, 0.0698, 0.1323, 0.0029},
    {8, 32, 29802, 29428, 19530, 577, 4096, 32, 0.1045, 0.0559, 0.1045, 0.0022},
    {8, 64, 29935, 29621, 19388, 535, 4096, 32, 0.0554, 0.0294, 0.0554, 0.0010},
    {16, 48, 11347, 11248, 8132, 377, 5120, 40, 0.1397, 0.0672, 0.1397, 0.0066},
    {16, 128, 11325, 11308, 8109, 378, 5120, 40, 0.0576, 0.0266, 0.0576, 0.0028},
    {32, 96, 10419, 10207, 7715, 408, 6144, 48, 0.1421, 0.0641, 0.1421, 0.0038},
    {32, 256, 10402, 10248, 7698, 460, 6144, 48, 0.0594, 0.0257, 0.0594, 0.0018},
};

/// The rows with two chunks per rank: times per chunk. 1f1b, zb-h1, zb-h2 and zb-v are what the
/// authors' code computes; the file has no result table for them, nor heads (those of the rows
/// above with the same hidden size are taken).
struct VRow {
  int p, m;
  double forward, input_gradient, weight_gradient, hop;
  int hidden, heads;
  double h1, h2, v;
  double work() const { return 2 * m * (forward + input_gradient + weight_gradient); }
};

constexpr VRow kVRows[] = {
    {16, 48, 14407, 14380, 9676, 1610, 4096, 32, 0.1536, 0.0823, 0.0697},
    {16, 64, 14412, 14393, 9688, 1621, 4096, 32, 0.1198, 0.0630, 0.0533},
    {16, 128, 14316, 14306, 9639, 1619, 4096, 32, 0.0637, 0.0325, 0.0274},
    {24, 72, 6763, 6969, 5251, 755, 5120, 40, 0.1439, 0.0628, 0.0638},
    {24, 192, 6785, 6990, 5260, 770, 5120, 40, 0.0595, 0.0247, 0.0250},
    {32, 96, 9458, 9748, 7288, 879, 6144, 48, 0.1429, 0.0629, 0.0593},
    {32, 128, 9469, 9744, 7306, 892, 6144, 48, 0.1111, 0.0478, 0.0451},
    {32, 256, 9447, 9644, 7193, 887, 6144, 48, 0.0593, 0.0251, 0.0236},
};

double stored(int hidden, int heads) { return 34.0 * hidden + 5.0 * heads * 1024; }

/// `scale` chunk times per stage.
template <typename AnyRow>
StageTimes times_of(const AnyRow& row, int stages, double scale) {
  const double all = stored(row.hidden, row.heads);
  const StageTime time{Seconds(row.forward * scale), Seconds(row.input_gradient * scale),
                       Seconds(row.weight_gradient * scale), base::Bytes(all),
                       base::Bytes(all - 32.0 * row.hidden)};
  return uniform_times(stages, time, Seconds(row.hop));
}

Span run(const char* name, const PipelineShape& shape) {
  const Program program = find_schedule(name, "").build(shape);
  verify(program);
  return span_of(program, shape.times);
}

double round4(double x) { return std::round(x * 1e4) / 1e4; }

}  // namespace

TEST_CASE("zb-h1 and zb-h2 have the published bubble rates to four digits", "[golden]") {
  for (const Row& row : kRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    const PipelineShape shape{row.p, 1, row.m, {}, times_of(row, row.p, 1)};
    CHECK(round4(1 - row.work() / run("zb-h1", shape).makespan) == Approx(row.h1).epsilon(1e-9));
    CHECK(round4(1 - row.work() / run("zb-h2", shape).longest) == Approx(row.h2).epsilon(1e-9));
  }
  for (const VRow& row : kVRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    const PipelineShape shape{row.p, 1, row.m, {}, times_of(row, row.p, 2)};
    CHECK(round4(1 - row.work() / run("zb-h1", shape).makespan) == Approx(row.h1).epsilon(1e-9));
    CHECK(round4(1 - row.work() / run("zb-h2", shape).longest) == Approx(row.h2).epsilon(1e-9));
  }
}

TEST_CASE("zb-1p and zb-2p idle no more than published", "[golden]") {
  for (const Row& row : kRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    const PipelineShape shape{row.p, 1, row.m, {}, times_of(row, row.p, 1)};
    CHECK(round4(1 - row.work() / run("zb-1p", shape).longest) <= row.limit_1p + 1e-9);
    CHECK(round4(1 - row.work() / run("zb-2p", shape).longest) <= row.limit_2p + 1e-9);
  }
}

TEST_CASE("zb-v idles no more than the authors' order", "[golden]") {
  for (const VRow& row : kVRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    const PipelineShape shape{row.p, 2, row.m, {}, times_of(row, 2 * row.p, 1)};
    CHECK(round4(1 - row.work() / run("zb-v", shape).longest) <= row.v + 1e-9);
  }
}

TEST_CASE("unit times give zb-h1 and zb-h2 the known makespans at p = 8", "[golden]") {
  for (const int m : {8, 16, 32}) {
    INFO("m " << m);
    const PipelineShape shape{8, 1, m};
    const Span h1 = span_of(zb_h1(shape), unit_times(shape));
    CHECK(h1.makespan == Approx(3 * m + 7));
    CHECK(h1.longest == Approx(3 * m + 7));
    if (m < 2 * 8 - 1) continue;
    const Span h2 = span_of(zb_h2(shape), unit_times(shape));
    CHECK(h2.makespan == Approx(3 * m + 7));
    CHECK(h2.longest == Approx(3 * m));
  }
}

TEST_CASE("zero bubble schedules without hops take their closed forms", "[sim]") {
  const double f = 1.3, b = 1.2, w = 0.7;
  for (const int p : {2, 4, 8, 16}) {
    INFO("p " << p);
    const int m = 2 * p + 3;
    const StageTimes times = uniform_times(p, {Seconds(f), Seconds(b), Seconds(w), {}});
    const PipelineShape shape{p, 1, m, {}, times};
    CHECK(span_of(zb_h1(shape), times).makespan == Approx(m * (f + b + w) + (p - 1) * (f + b - w)));
    CHECK(span_of(zb_h2(shape), times).longest ==
          Approx(m * (f + b + w) + (p - 1) * (f + b - 2 * w)));
    CHECK(span_of(zb_1p(shape), times).longest <=
          (m * (f + b + w) + (p - 1) * (f + b - w)) * (1 + 1e-9));
    CHECK(span_of(zb_2p(shape), times).longest <=
          (m * (f + b + w) + (p - 1) * (f + b - 2 * w)) * (1 + 1e-9));
  }
}

TEST_CASE("zero bubble schedules hold p or 2p microbatches at most", "[sim]") {
  for (int p = 1; p <= 16; ++p) {
    for (const int m : {1, 2, 3, 8, 15, 31, 64}) {
      INFO("p " << p << " m " << m);
      const PipelineShape shape{p, 1, m};
      const std::vector<int> h1 = peak_in_flight(zb_h1(shape)), h2 = peak_in_flight(zb_h2(shape));
      for (std::size_t rank = 0; rank < h1.size(); ++rank) {
        CHECK(h1[rank] == std::min(p, m));
        CHECK(h2[rank] == std::min(2 * p - 1, m));
      }
      CHECK(peak_units(zb_1p(shape)) <= p);
      CHECK(peak_units(zb_2p(shape)) <= 2 * p);
      CHECK(peak_units(zb_v({p, 2, m})) <= p);
      if (m >= 2 * p) CHECK(peak_units(zb_v({p, 2, m})) == p);
    }
  }
}

TEST_CASE("what B frees leaves room for more microbatches in flight", "[sim]") {
  const Row& row = kRows[1];
  const PipelineShape shape{row.p, 1, row.m, {}, times_of(row, row.p, 1)};
  // In undivided microbatches zb-2p passes its limit of 16, in bytes it does not.
  CHECK(peak_units(zb_2p(shape)) > 16);
  const double all = stored(row.hidden, row.heads), weight = 32.0 * row.hidden;
  for (const auto& order : zb_2p(shape).order) {
    double held = 0;
    for (const Action& action : order) {
      held += action.pass == 0 ? all : action.pass == 1 ? weight - all : -weight;
      REQUIRE(held <= 16 * all * (1 + 1e-9));
    }
    CHECK(held == Approx(0).margin(1));
  }
}

TEST_CASE("memory_limit replaces the limit of the list schedulers", "[sim]") {
  for (const double limit : {1.0, 2.5, 5.0, 9.0}) {
    PipelineShape shape{6, 1, 20};
    shape.options.memory_limit = limit;
    CHECK(peak_units(zb_1p(shape)) <= limit);
    CHECK(zb_1p(shape).order.size() == 6);
    CHECK_NOTHROW(verify(zb_2p(shape)));
    CHECK(peak_units(zb_2p(shape)) <= limit);
  }
  PipelineShape shape{6, 1, 20};
  shape.options.memory_limit = 0.5;
  CHECK_THROWS_WITH(zb_1p(shape), Catch::Contains("memory_limit") && Catch::Contains("at least 1"));
  shape.chunks = 2;
  shape.options.memory_limit = 5;
  CHECK_THROWS_WITH(zb_v(shape), Catch::Contains("at least 6") && Catch::Contains("v-half"));
  shape.options.memory_limit = 7;
  CHECK(peak_units(zb_v(shape)) <= 7);
  CHECK_THROWS_AS(zb_v({4, 1, 8}), base::Error);
  CHECK_THROWS_AS(zb_h1({4, 2, 8}), base::Error);
  CHECK_THROWS_AS(zb_2p({4, 2, 8}), base::Error);
}

// SPDX-License-Identifier: Apache-2.0
// Published stage times and bubble rates: Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR
// 2024), github.com/sail-sg/zero-bubble-pipeline-parallelism, branch arxiv, efficiency.py.
// Microseconds per rank and microbatch; rate = 1 - m(F + B + W) / makespan. The 1F1B column is the
// file's result table; interleaved values are what the authors' code computes with layers / p
// chunks.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

struct Row {
  int p, m;
  double forward, input_gradient, weight_gradient, hop;
  int layers;
  double one_f_one_b, interleaved;
  double work() const { return m * (forward + input_gradient + weight_gradient); }
};

constexpr Row kRows[] = {
    {8, 24, 18522, 18086, 9337, 601, 24, 0.2431, 0.1055},
    {8, 32, 18513, 18086, 9331, 626, 24, 0.1985, 0.0818},
    {8, 64, 18546, 18097, 9321, 762, 24, 0.1240, 0.0443},
    {8, 24, 29718, 29444, 19927, 527, 32, 0.2347, 0.0808},
    {8, 32, 29802, 29428, 19530, 577, 32, 0.1898, 0.0628},
    {8, 64, 29935, 29621, 19388, 535, 32, 0.1091, 0.0320},
    {16, 48, 11347, 11248, 8132, 377, 48, 0.2552, 0.1104},
    {16, 128, 11325, 11308, 8109, 378, 48, 0.1251, 0.0445},
    {32, 96, 10419, 10207, 7715, 408, 64, 0.2646, 0.1493},
    {32, 256, 10402, 10248, 7698, 460, 64, 0.1352, 0.0624},
    // The rows with two chunks per rank give times per chunk: half a rank.
    {16, 48, 2 * 14407, 2 * 14380, 2 * 9676, 1610, 32, 0.2668, 0.1499},
    {16, 64, 2 * 14412, 2 * 14393, 2 * 9688, 1621, 32, 0.2206, 0.1169},
    {16, 128, 2 * 14316, 2 * 14306, 2 * 9639, 1619, 32, 0.1390, 0.0621},
    {24, 72, 2 * 6763, 2 * 6969, 2 * 5251, 755, 48, 0.2699, 0.1519},
    {24, 192, 2 * 6785, 2 * 6990, 2 * 5260, 770, 48, 0.1403, 0.0630},
    {32, 96, 2 * 9458, 2 * 9748, 2 * 7288, 879, 64, 0.2676, 0.1509},
    {32, 128, 2 * 9469, 2 * 9744, 2 * 7306, 892, 64, 0.2204, 0.1177},
    {32, 256, 2 * 9447, 2 * 9644, 2 * 7193, 887, 64, 0.1362, 0.0626},
};

double makespan(const char* schedule, const Row& row, int chunks, bool with_hop) {
  const Program program = find_schedule(schedule, "").build({row.p, chunks, row.m});
  const StageTime time{Seconds(row.forward / chunks),
                       Seconds(row.input_gradient / chunks),
                       Seconds(row.weight_gradient / chunks),
                       {}};
  const StageTimes times = uniform_times(row.p * chunks, time, Seconds(with_hop ? row.hop : 0));
  return run_reference(timed(program, times)).makespan;
}

double round4(double x) { return std::round(x * 1e4) / 1e4; }

}  // namespace

TEST_CASE("1F1B with non-blocking hops has the published bubble rates to four digits", "[golden]") {
  for (const Row& row : kRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    CHECK(round4(1 - row.work() / makespan("1f1b", row, 1, true)) ==
          Approx(row.one_f_one_b).epsilon(1e-9));
  }
}

TEST_CASE("GPipe without hops idles (p-1)/(m+p-1) of the time", "[golden]") {
  for (const Row& row : kRows) {
    INFO("p " << row.p << " m " << row.m);
    const double rate = 1 - row.work() / makespan("gpipe", row, 1, false);
    CHECK(rate == Approx((row.p - 1.0) / (row.m + row.p - 1.0)).epsilon(1e-9));
  }
}

TEST_CASE("interleaved 1F1B idles (p-1)/(v m) of its work, and with hops about as published",
          "[golden]") {
  for (const Row& row : kRows) {
    INFO("p " << row.p << " m " << row.m << " F " << row.forward);
    const int v = row.layers / row.p;
    const double bubble = (row.p - 1.0) / (v * row.m);
    const double free = 1 - row.work() / makespan("interleaved-1f1b", row, v, false);
    CHECK(free == Approx(bubble / (1 + bubble)).epsilon(1e-9));
    const double time = makespan("interleaved-1f1b", row, v, true);
    CHECK(std::abs(1 - row.work() / time - row.interleaved) <= row.p * row.hop / time);
  }
}

TEST_CASE("unit stage times give the known makespans at p = 8", "[golden]") {
  struct Known {
    int m;
    double one_chunk, two_chunks, four_chunks;
  };
  for (const Known& known :
       {Known{8, 45, 34.5, 29.25}, Known{16, 69, 58.5, 53.25}, Known{32, 117, 106.5, 101.25}}) {
    INFO("m " << known.m);
    const Row row{8, known.m, 1, 1, 1, 0, 0, 0, 0};
    CHECK(makespan("gpipe", row, 1, false) == Approx(known.one_chunk));
    CHECK(makespan("1f1b", row, 1, false) == Approx(known.one_chunk));
    for (const char* name : {"interleaved-1f1b", "breadth-first"}) {
      CHECK(makespan(name, row, 2, false) == Approx(known.two_chunks));
      CHECK(makespan(name, row, 4, false) == Approx(known.four_chunks));
    }
  }
}

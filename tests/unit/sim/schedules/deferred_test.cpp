// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/sim/schedules/evaluate.hpp"

using namespace paceline;
using namespace paceline::sim;
using namespace paceline::sim::test;

namespace {

/// Actions of one pass, in order.
std::vector<std::pair<int, int>> of_pass(const Program& program, std::size_t rank,
                                         const std::string& name) {
  std::vector<std::pair<int, int>> list;
  for (const Action& a : program.order[rank]) {
    if (program.passes[a.pass].name == name) list.emplace_back(a.stage, a.microbatch);
  }
  return list;
}

}  // namespace

TEST_CASE("2bp runs 1F1B with all weight gradients at the end", "[sim]") {
  const Program program = two_bp({3, 1, 4});
  CHECK(line_of(program, 0) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0W0 0W1 0W2 0W3");
  CHECK(line_of(program, 2) == "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2W0 2W1 2W2 2W3");
  CHECK(makespan("2bp", {8, 1, 8}, 1, 1, 1) == 38);
  CHECK(makespan("2bp", {8, 1, 16}, 1, 1, 1) == 62);
  CHECK(makespan("2bp", {8, 1, 32}, 1, 1, 1) == 110);
  for (const int p : {4, 8, 16}) {
    for (int m = 1; m <= 64; m += 7) {
      // m (T_F + T_B + T_W) + (p - 1)(T_F + T_B), and m microbatches held.
      CHECK(makespan("2bp", {p, 1, m}, 1, 1.25, 0.75) == Approx(3.0 * m + (p - 1) * 2.25));
      CHECK(peaks(two_bp({p, 1, m}), 1) == std::pair(double(m), double(m)));
    }
  }
}

TEST_CASE("2bp alone does not explain a gain of 1.7 on four ranks", "[sim]") {
  // The paper reports 1.70x for a 7B model on 4 GPUs. With equal passes, taking the weight
  // gradients out of the pipeline gives at most a third, so the rest must come from elsewhere.
  const auto gain = [](int m) {
    return makespan("1f1b", {4, 1, m}, 1, 1, 1) / makespan("2bp", {4, 1, m}, 1, 1, 1);
  };
  CHECK(gain(1) == Approx(12.0 / 9));
  CHECK(gain(4) == Approx(21.0 / 18));
  CHECK(gain(8) == Approx(33.0 / 30));
  for (int m = 1; m <= 64; ++m) CHECK(gain(m) <= 4.0 / 3 + 1e-12);
}

TEST_CASE("2bp under a memory limit puts weight gradients into idle time", "[sim]") {
  PipelineShape shape{8, 1, 32};
  shape.options.memory_limit = 8;
  CHECK(peaks(two_bp(shape), 1).second == 8);
  // As ZB-H1: (p - 1)(T_F + T_B - T_W) idle.
  CHECK(makespan("2bp", shape, 1, 1, 1) == Approx(96 + 7));
  shape.options.memory_limit = 32;
  CHECK(peaks(two_bp(shape), 1).second == 32);
  CHECK(makespan("2bp", shape, 1, 1, 1) < makespan("2bp", {8, 1, 32}, 1, 1, 1));
  shape.options.memory_limit = 7.5;
  CHECK(error_of("2bp", shape).find("memory_limit of at least 8") != std::string::npos);
}

TEST_CASE("zeropp in one unit runs the forwards of breadth-first and is no longer", "[sim]") {
  PipelineShape shape{4, 2, 12};
  shape.options.group = 12;
  const Program program = zeropp(shape), blocks = breadth_first(shape);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(of_pass(program, rank, "F") == of_pass(blocks, rank, "F"));
    CHECK(peak_in_flight(program)[rank] <= peak_in_flight(blocks)[rank]);
  }
  CHECK(makespan("zeropp", shape, 1, 1, 1) <= makespan("breadth-first", {4, 2, 12}, 1, 1, 1));
}

TEST_CASE("zeropp holds a unit at most and idles less the larger it is", "[sim]") {
  for (const int v : {1, 2, 4}) {
    double before = 1e9;
    for (const int unit : {4, 8, 16, 32}) {
      PipelineShape shape{8, v, 32};
      shape.options.group = unit;
      const Program program = zeropp(shape);
      verify(program);
      CHECK(peaks(program, v).second <= unit);
      const double time = makespan("zeropp", shape, 1, 1, 1);
      CHECK(time <= before + 1e-9);
      before = time;
    }
    // Weight gradients fill the gaps of the interleaved order.
    CHECK(before < 96 + 21.0 / v);
  }
}

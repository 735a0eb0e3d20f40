// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/roundpipe.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

constexpr int kGpus = 8, kMicrobatches = 16;

/// Inputs and makespans (ms) published with RoundPipe: pp-simulate/run.sh and log of
/// github.com/ITcarrot/RoundPipe-artifact. Stages of the baselines are given in layers; the head
/// belongs to the last. Their backwards recompute, which adds a forward per layer.
struct Published {
  const char* model;
  double forward, backward, head_forward, head_backward, hop;  // ms per layer, head, message
  std::vector<int> plain, looping;  // layers per stage: 1F1B and GPipe; interleaved and BFS
  std::vector<int> round_forward, round_backward;  // the first backward stage is the head
  double one_f_one_b, gpipe, interleaved, breadth_first, round_pipe;
};

std::vector<int> repeat(std::initializer_list<std::pair<int, int>> count_and_layers) {
  std::vector<int> all;
  for (const auto& [count, layers] : count_and_layers) {
    all.insert(all.end(), static_cast<std::size_t>(count), layers);
  }
  return all;
}

std::vector<Published> published() {
  return {{"Qwen3-1.7B",
           7.429,
           15.831,
           22.0655,
           43.707,
           1.6,
           {3, 3, 4, 4, 4, 4, 4, 2},
           repeat({{18, 1}, {5, 2}, {1, 0}}),
           repeat({{4, 7}}),
           repeat({{8, 3}, {2, 2}}),
           2854.7220,
           2896.9170,
           2560.8020,
           2467.2710,
           2286.0170},
          {"Llama3-8B", 18.50370313, 41.20659375, 37.2255, 74.501, 3.2, repeat({{8, 4}}),
           repeat({{32, 1}}), repeat({{4, 5}, {2, 6}}), repeat({{16, 2}}), 9028.1120, 9028.1120,
           7539.2180, 7385.6180, 6100.5450},
          {"Qwen3-32B", 40.5610625, 91.17429688, 54.928, 108.294, 4, repeat({{8, 8}}),
           repeat({{64, 1}}), repeat({{2, 2}, {20, 3}}), repeat({{64, 1}}), 34370.0936, 34370.0936,
           26375.5690, 25927.5690, 23978.8338}};
}

StageTimes baseline_times(const Published& row, const std::vector<int>& layers) {
  StageTimes times;
  times.hop = Seconds(row.hop);
  for (const int count : layers) {
    times.stages.push_back({Seconds(count * row.forward),
                            Seconds(count * (row.backward + row.forward)),
                            Seconds(0),
                            {}});
  }
  times.stages.back().forward += Seconds(row.head_forward);
  times.stages.back().input_gradient += Seconds(row.head_backward);
  return times;
}

double baseline(const Published& row, const char* schedule, const std::vector<int>& layers) {
  const int chunks = static_cast<int>(layers.size()) / kGpus;
  const Program program = find_schedule(schedule, "t").build({kGpus, chunks, kMicrobatches});
  return run_reference(timed(program, baseline_times(row, layers))).makespan;
}

/// One block per layer and one for the head.
PipelineShape round_shape(const Published& row) {
  const int layers = std::accumulate(row.round_forward.begin(), row.round_forward.end(), 0);
  PipelineShape shape{1, layers + 1, kMicrobatches};
  shape.times = uniform_times(layers, {Seconds(row.forward), Seconds(row.backward), Seconds(0), {}},
                              Seconds(row.hop));
  shape.times.stages.push_back(
      {Seconds(row.head_forward), Seconds(row.head_backward), Seconds(0), {}});
  return shape;
}

RoundPartition round_partition(const Published& row) {
  RoundPartition partition{row.round_forward, {1}, true};
  partition.backward.insert(partition.backward.end(), row.round_backward.begin(),
                            row.round_backward.end());
  return partition;
}

}  // namespace

TEST_CASE("the makespans published with RoundPipe come out to 0.1 ms", "[sim][schedules]") {
  for (const Published& row : published()) {
    INFO(row.model);
    const double margin = 0.1;
    CHECK(std::abs(baseline(row, "1f1b", row.plain) - row.one_f_one_b) < margin);
    CHECK(std::abs(baseline(row, "gpipe", row.plain) - row.gpipe) < margin);
    CHECK(std::abs(baseline(row, "interleaved-1f1b", row.looping) - row.interleaved) < margin);
    CHECK(std::abs(baseline(row, "breadth-first", row.looping) - row.breadth_first) < margin);
    const PipelineShape shape = round_shape(row);
    const Program program = round_pipe_program(kGpus, shape, round_partition(row));
    verify(program);
    CHECK(std::abs(run_reference(timed(program, shape.times)).makespan - row.round_pipe) < margin);
  }
}

TEST_CASE("a head that waits for its input costs RoundPipe time where ranks come round",
          "[sim][schedules]") {
  const Published row = published().back();
  const PipelineShape shape = round_shape(row);
  RoundPartition partition = round_partition(row);
  partition.head_ahead = false;
  const Program program = round_pipe_program(kGpus, shape, partition);
  verify(program);
  // Two rounds, in each of which the head's forward was hidden behind eight hops.
  CHECK(run_reference(timed(program, shape.times)).makespan ==
        Approx(row.round_pipe + 2 * 8 * row.hop).margin(0.1));
}

TEST_CASE("roundpipe serves any shape of two stages or more", "[sim][schedules]") {
  const Schedule& schedule = find_schedule("roundpipe", "t");
  for (int p = 1; p <= 8; ++p) {
    for (int chunks = 1; chunks <= 4; ++chunks) {
      for (int m = 1; m <= 20; m += 3) {
        if (p * chunks == 1) continue;
        const Program program = schedule.build({p, chunks, m});
        REQUIRE_NOTHROW(verify(program));
        REQUIRE(required_buffers(program) >= 0);
      }
    }
  }
  CHECK_THROWS_AS(schedule.build({1, 1, 4}), base::Error);
}

TEST_CASE("roundpipe recomputes right before each backward", "[sim][schedules]") {
  const Program p = find_schedule("roundpipe", "t").build({4, 2, 8});  // backward stages of one
  int backwards = 0;
  for (const auto& order : p.order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (p.passes[order[i].pass].name != "BW") continue;
      ++backwards;
      REQUIRE(i > 0);
      CHECK(p.passes[order[i - 1].pass].name == "R");
      CHECK(order[i - 1].stage == order[i].stage);
      CHECK(order[i - 1].microbatch == order[i].microbatch);
    }
  }
  CHECK(backwards == 8 * 8);
}

TEST_CASE("forward and backward stages of roundpipe take about the same time", "[sim][schedules]") {
  CHECK(balanced_partition({4, 2, 8}).forward == std::vector<int>{3, 3, 1});
  CHECK(balanced_partition({4, 2, 8}).backward == std::vector<int>(8, 1));
  PipelineShape shape{4, 3, 8};
  shape.times = uniform_times(12, {Seconds(1), Seconds(2), Seconds(0), {}});
  shape.times.stages.back() = {Seconds(2), Seconds(4.5), Seconds(0), {}};
  CHECK(balanced_partition(shape).forward == std::vector<int>{6, 5});
  CHECK(balanced_partition(shape).backward == std::vector<int>{1, 2, 2, 2, 2, 2, 1});
}

TEST_CASE("a heavy stage does not bind a rank of roundpipe", "[sim][schedules]") {
  PipelineShape shape{4, 6, 16};
  shape.times = uniform_times(24, {Seconds(1), Seconds(2), Seconds(0), {}});
  shape.times.stages.back() = {Seconds(4), Seconds(8), Seconds(0), {}};
  const Program round = find_schedule("roundpipe", "t").build(shape);
  const Program bound = find_schedule("breadth-first", "t").build({4, 6, 16});
  StageTimes recomputing = shape.times;
  for (StageTime& stage : recomputing.stages) stage.input_gradient += stage.forward;
  recomputing.stages.back().input_gradient = Seconds(8);
  CHECK(run_reference(timed(round, shape.times)).makespan <
        0.9 * run_reference(timed(bound, recomputing)).makespan);
}

TEST_CASE("a partition that does not cover the stages is refused", "[sim][schedules]") {
  PipelineShape shape{2, 2, 4};
  CHECK_NOTHROW(round_pipe_program(2, shape, {{3}, {2, 2}, false}));
  CHECK_THROWS_AS(round_pipe_program(2, shape, {{2}, {2, 2}, false}), base::Error);
  CHECK_THROWS_AS(round_pipe_program(2, shape, {{3}, {4, 0}, false}), base::Error);
  CHECK_THROWS_AS(round_pipe_program(2, shape, {{4, -1}, {4}, false}), base::Error);
}

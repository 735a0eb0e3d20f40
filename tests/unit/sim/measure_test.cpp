// SPDX-License-Identifier: Apache-2.0
#include "sim/measure.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sim/engine/reference.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// A graph by hand: every kind of work its own segment, times as given.
struct Hand {
  TaskGraph graph;

  explicit Hand(std::size_t lanes) {
    graph.lanes.resize(lanes);
    for (std::size_t i = 0; i < lanes; ++i) graph.lanes[i].representative = static_cast<int>(i);
  }

  std::uint16_t segment(Part part, double seconds) {
    Segment s;
    s.name = "work";
    s.seconds = seconds;
    s.parts[static_cast<std::size_t>(part)] = seconds;
    graph.segments.push_back(s);
    return static_cast<std::uint16_t>(graph.segments.size() - 1);
  }
  TaskId add(std::uint32_t lane, Stream stream, TaskKind kind, Part part, double seconds,
             std::vector<TaskId> deps = {}) {
    Task task;
    task.lane = lane;
    task.stream = stream;
    task.kind = kind;
    task.seconds = seconds;
    task.segment = segment(part, seconds);
    return graph.add(task, deps);
  }
  TaskId compute(std::uint32_t lane, double seconds, std::vector<TaskId> deps = {}) {
    return add(lane, Stream::Compute, TaskKind::Action, Part::Compute, seconds, std::move(deps));
  }
  TaskId message(std::uint32_t lane, double seconds, TaskId after) {
    return add(lane, Stream::PpDown, TaskKind::Message, Part::ExposedPp, seconds, {after});
  }
  TaskId reduce(std::uint32_t lane, double seconds, std::vector<TaskId> deps) {
    return add(lane, Stream::Dp, TaskKind::Collective, Part::ExposedDp, seconds, std::move(deps));
  }
  Segment& segment_of(TaskId t) { return graph.segments[graph.tasks[t].segment]; }

  /// Seconds of one lane by part; checks that they add up.
  PartSeconds breakdown(std::uint32_t lane) const {
    const Timeline timeline = run_reference(graph);
    const PartSeconds parts = breakdown_of(graph, timeline, lane);
    CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) == Approx(timeline.makespan));
    return parts;
  }
};

double at(const PartSeconds& parts, Part part) { return parts[static_cast<std::size_t>(part)]; }

/// A one-rank scenario, for what measure() needs beside the graph.
models::Scenario one_gpu() { return tests::small_gpt("parallel: {pp: 2}"); }

}  // namespace

TEST_CASE("a lane without gaps is compute to its end, then bubble", "[measure]") {
  Hand hand(2);
  hand.compute(0, 3);
  hand.compute(0, 2);
  hand.compute(1, 9);
  CHECK(at(hand.breakdown(0), Part::Compute) == 5);
  CHECK(at(hand.breakdown(0), Part::Bubble) == 4);
  CHECK(at(hand.breakdown(1), Part::Compute) == 9);
  CHECK(at(hand.breakdown(1), Part::Bubble) == 0);
}

TEST_CASE("waiting for a message blames its transit, the sender's work is bubble", "[measure]") {
  Hand hand(2);
  const TaskId forward = hand.compute(0, 5);
  const TaskId sent = hand.message(0, 2, forward);
  hand.compute(1, 1);
  hand.compute(1, 4, {sent});
  // Lane 1 is idle from 1 to 7: until 5 its peer computes, then the message is under way.
  const PartSeconds parts = hand.breakdown(1);
  CHECK(at(parts, Part::Compute) == 5);
  CHECK(at(parts, Part::ExposedPp) == 2);
  CHECK(at(parts, Part::Bubble) == 4);
}

TEST_CASE("a message that arrived while the lane was busy costs nothing", "[measure]") {
  Hand hand(2);
  const TaskId forward = hand.compute(0, 1);
  const TaskId sent = hand.message(0, 2, forward);
  hand.compute(1, 10);
  hand.compute(1, 1, {sent});
  const PartSeconds parts = hand.breakdown(1);
  CHECK(at(parts, Part::ExposedPp) == 0);
  CHECK(at(parts, Part::Bubble) == 0);
}

TEST_CASE("a message half hidden costs its other half", "[measure]") {
  Hand hand(2);
  const TaskId forward = hand.compute(0, 1);
  const TaskId sent = hand.message(0, 4, forward);
  hand.compute(1, 3);
  hand.compute(1, 1, {sent});
  CHECK(at(hand.breakdown(1), Part::ExposedPp) == 2);
  CHECK(at(hand.breakdown(1), Part::Bubble) == 0);
}

TEST_CASE("queued collectives before the awaited one count as exposed", "[measure]") {
  Hand hand(1);
  const TaskId first = hand.compute(0, 1);
  hand.reduce(0, 3, {first});
  const TaskId second = hand.reduce(0, 2, {first});
  hand.compute(0, 1, {second});
  const PartSeconds parts = hand.breakdown(0);
  CHECK(at(parts, Part::Compute) == 2);
  CHECK(at(parts, Part::ExposedDp) == 5);
  CHECK(at(parts, Part::Bubble) == 0);
}

TEST_CASE("what a message queued behind on its sender is bubble of the receiver", "[measure]") {
  Hand hand(2);
  const TaskId forward = hand.compute(0, 1);
  hand.message(0, 3, forward);
  const TaskId second = hand.message(0, 2, forward);
  hand.compute(1, 1, {second});
  const PartSeconds parts = hand.breakdown(1);
  CHECK(at(parts, Part::ExposedPp) == 2);
  CHECK(at(parts, Part::Bubble) == 4);
}

TEST_CASE("collectives after the last kernel are exposed, what nobody waits for is bubble",
          "[measure]") {
  Hand hand(2);
  const TaskId last = hand.compute(0, 4);
  hand.reduce(0, 3, {last});
  hand.compute(1, 10);
  const PartSeconds parts = hand.breakdown(0);
  CHECK(at(parts, Part::Compute) == 4);
  CHECK(at(parts, Part::ExposedDp) == 3);
  CHECK(at(parts, Part::Bubble) == 3);
}

TEST_CASE("tails of two streams that overlap are counted once", "[measure]") {
  Hand hand(1);
  const TaskId last = hand.compute(0, 1);
  hand.reduce(0, 4, {last});
  hand.add(0, Stream::Host, TaskKind::Host, Part::Host, 6, {last});
  const PartSeconds parts = hand.breakdown(0);
  CHECK(at(parts, Part::ExposedDp) == 4);
  CHECK(at(parts, Part::Host) == 2);
}

TEST_CASE("compute slowed down beside communication is still compute", "[measure]") {
  Hand hand(1);
  const TaskId first = hand.compute(0, 1);
  hand.reduce(0, 2, {first});
  const TaskId slow = hand.compute(0, 4);
  hand.graph.tasks[slow].slowdown = 2;
  const PartSeconds parts = hand.breakdown(0);
  CHECK(at(parts, Part::Compute) == Approx(1 + 5));  // two seconds at half speed, three at full
  CHECK(at(parts, Part::ExposedDp) == 0);
}

TEST_CASE("blocking messages on the compute stream are exposed in full", "[measure]") {
  Hand hand(1);
  const TaskId first = hand.compute(0, 1);
  hand.add(0, Stream::Compute, TaskKind::Message, Part::ExposedPp, 2, {first});
  hand.compute(0, 1);
  const PartSeconds parts = hand.breakdown(0);
  CHECK(at(parts, Part::Compute) == 2);
  CHECK(at(parts, Part::ExposedPp) == 2);
}

TEST_CASE("the optimizer has its own part and the bubble of the pipeline ignores it", "[measure]") {
  Hand hand(2);
  const TaskId forward = hand.compute(0, 4);
  const TaskId sent = hand.message(0, 0, forward);
  hand.compute(1, 4, {sent});
  hand.compute(0, 4);
  hand.add(0, Stream::Compute, TaskKind::Optimizer, Part::Optimizer, 2);
  hand.add(1, Stream::Compute, TaskKind::Optimizer, Part::Optimizer, 50);
  const models::Scenario s = one_gpu();
  const Result r = measure(s, hand.graph, run_reference(hand.graph));
  CHECK(r.step_time == 58);
  CHECK(r.critical_lane == 0);
  CHECK(at(r.breakdown, Part::Optimizer) == 2);
  CHECK(r.bubble_makespan == Approx(0));  // lane 0 is busy from 0 to 8
}

TEST_CASE("bubbles are idle shares of the pipeline and of its longest stage", "[measure]") {
  Hand hand(2);
  const TaskId a = hand.compute(0, 2);
  const TaskId b = hand.compute(1, 2, {a});
  hand.compute(0, 2, {b});
  const models::Scenario s = one_gpu();
  const Result r = measure(s, hand.graph, run_reference(hand.graph));
  CHECK(r.bubble_makespan == Approx(1 - 4.0 / 6));
  CHECK(r.bubble_longest_stage == Approx(1 - 4.0 / 6));
  Hand late(2);  // the stage that starts last is the longest only from its own start
  const TaskId first = late.compute(0, 4);
  late.compute(1, 4, {first});
  const Result two = measure(s, late.graph, run_reference(late.graph));
  CHECK(two.bubble_makespan == Approx(0.5));
  CHECK(two.bubble_longest_stage == Approx(0));
}

TEST_CASE("the memory peak is the largest sum, with its moment and its parts", "[measure]") {
  Hand hand(1);
  hand.graph.lanes[0].members = 3;
  hand.graph.lanes[0].resident = {{MemoryPart::Parameters, 100}, {MemoryPart::Runtime, 10}};
  const TaskId f1 = hand.compute(0, 1), f2 = hand.compute(0, 2), b = hand.compute(0, 4);
  hand.segment_of(f1).at_start = {{MemoryPart::Activations, 20}};
  hand.segment_of(f2).at_start = {{MemoryPart::Activations, 20}, {MemoryPart::Logits, 15}};
  hand.segment_of(f2).at_finish = {{MemoryPart::Logits, -15}};
  hand.segment_of(b).at_start = {{MemoryPart::Workspace, 9}};
  hand.segment_of(b).at_finish = {{MemoryPart::Workspace, -9}, {MemoryPart::Activations, -20}};
  const std::vector<MemoryPeak> peaks = replay_memory(hand.graph, run_reference(hand.graph));
  REQUIRE(peaks.size() == 1);
  CHECK(peaks[0].peak_bytes == 165);
  CHECK(peaks[0].at_seconds == 1);
  CHECK(peaks[0].members == 3);
  CHECK(peaks[0].parts[static_cast<std::size_t>(MemoryPart::Activations)] == 40);
  CHECK(peaks[0].parts[static_cast<std::size_t>(MemoryPart::Logits)] == 15);
  CHECK(peaks[0].parts[static_cast<std::size_t>(MemoryPart::Workspace)] == 0);
}

TEST_CASE("what is freed when a task ends is free for the next", "[measure]") {
  Hand hand(2);
  for (int i = 0; i < 5; ++i) {
    const TaskId t = hand.compute(0, 1);
    hand.segment_of(t).at_start = {{MemoryPart::Workspace, 7}};
    hand.segment_of(t).at_finish = {{MemoryPart::Workspace, -7}};
  }
  const std::vector<MemoryPeak> peaks = replay_memory(hand.graph, run_reference(hand.graph));
  CHECK(peaks[0].peak_bytes == 7);
  CHECK(peaks[0].at_seconds == 0);
  CHECK(peaks[1].peak_bytes == 0);
}

TEST_CASE("traffic and operations count every member of a lane", "[measure]") {
  Hand hand(2);
  hand.graph.lanes[0].members = 4;
  const TaskId a = hand.compute(0, 1), b = hand.compute(0, 1);
  hand.compute(1, 1);
  for (const TaskId t : {a, b}) {
    hand.segment_of(t).flops = 1e9;
    hand.segment_of(t).bytes[static_cast<std::size_t>(Stream::Tp)] = 100;
  }
  const models::Scenario s = one_gpu();
  const Result r = measure(s, hand.graph, run_reference(hand.graph));
  CHECK(r.hardware_flops == 8e9);
  CHECK(r.traffic_bytes[static_cast<std::size_t>(Stream::Tp)] == 800);
  CHECK(r.traffic_bytes[static_cast<std::size_t>(Stream::Dp)] == 0);
}

TEST_CASE("rates follow from the batch and the step time", "[measure]") {
  Hand hand(2);
  hand.compute(0, 4);
  const models::Scenario s = one_gpu();
  const Result r = measure(s, hand.graph, run_reference(hand.graph));
  CHECK(r.samples_per_s == 64 / 4.0);
  CHECK(r.tokens_per_s == 64 * 512 / 4.0);
  const double peak =
      2 * s.cluster.groups[0].device.matrix_rate[static_cast<std::size_t>(s.precision)].value;
  CHECK(r.mfu == Approx(r.model_flops / (peak * 4)));
  CHECK(r.hfu >= r.mfu);
  CHECK(r.step_time_low == Approx(4 * (1 - s.profiles[0].residual)));
  CHECK(r.step_time_high == Approx(4 * (1 + s.profiles[0].residual)));
}

TEST_CASE("the operations of a step are 72 B s l h^2 (1 + s / 12h + V / 12lh), causal",
          "[measure]") {
  models::Scenario s = tests::small_gpt();
  // Narayanan et al. 2021, section 5.1, without recomputation and with half of the square; biases
  // and norms of a layer, which the formula leaves out, are 13 h of its 12 h^2.
  const double b = 64, seq = 512, l = 16, h = 1024, v = 32000;
  const double formula = 72 * b * seq * l * h * h * (1 + seq / (12 * h) + v / (12 * l * h));
  CHECK(model_flops(s) == Approx(formula).epsilon(2e-3));
  CHECK(model_flops(s) >= formula);
  const double one = model_flops(s);
  s.batch.global *= 2;
  CHECK(model_flops(s) == Approx(2 * one));
}

TEST_CASE("memory over capacity is an answer with a warning", "[measure]") {
  Hand hand(2);
  hand.compute(0, 1);
  const models::Scenario s = one_gpu();
  const double capacity = s.cluster.groups[0].device.memory.value;
  const auto warned = [&](double share) {
    hand.graph.lanes[1].resident = {{MemoryPart::Parameters, share * capacity}};
    const Result r = measure(s, hand.graph, run_reference(hand.graph));
    CHECK(r.fits() == (share <= 1));
    std::string all;
    for (const std::string& w : r.warnings) all += w;
    return all;
  };
  CHECK(warned(0.5).empty());
  CHECK(warned(0.91).empty());
  CHECK(warned(0.95) ==
        "memory is 95.0 % full on rank 1: real runs slow down here, because the allocator keeps "
        "freeing its cache");
  CHECK(warned(1.5).find("does not fit: rank 1 needs ") == 0);
}

TEST_CASE("a sequence beyond the model's context is an answer with a warning", "[measure]") {
  Hand hand(2);
  hand.compute(0, 1);
  models::Scenario s = one_gpu();
  s.model.context = 256;
  const Result r = measure(s, hand.graph, run_reference(hand.graph));
  REQUIRE(r.warnings.size() == 1);
  CHECK(r.warnings[0].find("batch.sequence 512 is longer than the model's context of 256") == 0);
}

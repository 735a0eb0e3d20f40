// SPDX-License-Identifier: Apache-2.0
// The hand-made run the report tests share (a *_test.cpp so that the test target picks it up).
#include "tests/unit/reports/example.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

namespace tests {

namespace {

using namespace paceline;
using sim::MemoryPart;
using sim::Part;
using sim::Stream;
using sim::TaskId;
using sim::TaskKind;

constexpr double kGiB = 1024.0 * 1024 * 1024;

models::Cluster example_cluster() {
  models::NodeGroup group;
  group.device.name = "h100-sxm";
  group.device.memory = base::Bytes(80 * kGiB);
  models::Cluster cluster;
  cluster.name = "dgx-h100";
  cluster.groups.push_back(group);
  return cluster;
}

sim::Segment segment(std::string name, Part part, double seconds) {
  sim::Segment s;
  s.name = std::move(name);
  s.parts[static_cast<std::size_t>(part)] = seconds;
  return s;
}

/// Adds a task and its times; dependencies only matter to the reports.
TaskId add(sim::Prediction& p, std::uint32_t lane, Stream stream, TaskKind kind, int segment_id,
           std::uint32_t origin, double start, double finish, std::vector<TaskId> deps = {}) {
  sim::Task task;
  task.seconds = finish - start;
  task.lane = lane;
  task.stream = stream;
  task.kind = kind;
  task.segment = static_cast<std::uint16_t>(segment_id);
  task.origin = origin;
  p.timeline.start.push_back(start);
  p.timeline.finish.push_back(finish);
  p.timeline.makespan = std::max(p.timeline.makespan, finish);
  return p.graph.add(task, deps);
}

enum SegmentId { kForward, kBackward, kSend, kAllReduce, kUpdate, kJoin };

void add_segments(sim::TaskGraph& graph) {
  graph.segments = {segment("F stage", Part::Compute, 0.010),
                    segment("BW stage", Part::Compute, 0.020),
                    segment("send", Part::ExposedPp, 0.001),
                    segment("all_reduce dp", Part::ExposedDp, 0.005),
                    segment("optimizer", Part::Optimizer, 0.002),
                    segment("join", Part::Host, 0)};
  graph.segments[kForward].at_start = {{MemoryPart::Activations, 2 * kGiB}};
  graph.segments[kBackward].at_finish = {{MemoryPart::Activations, -2 * kGiB}};
  graph.segments[kSend].bytes[static_cast<std::size_t>(Stream::PpDown)] = 64e6;
  graph.segments[kAllReduce].bytes[static_cast<std::size_t>(Stream::Dp)] = 1e9;
}

models::Plan example_plan() {
  models::Plan plan;
  plan.world_size = 8;
  plan.microbatches = 3;
  plan.members_per_lane = 4;
  plan.meshes.push_back({"model", 0, {{"tp", 2, 1}, {"dp", 2, 2}, {"pp", 2, 4}}});
  plan.stages = {{0, 4, true, false, 0}, {4, 4, false, true, 0}};
  return plan;
}

sim::Program example_program() {
  sim::Program program;
  program.passes = {{"F", sim::Direction::Down, {}, {}}, {"BW", sim::Direction::Up, {0}, {0}}};
  program.stages = 2;
  program.microbatches = 3;
  const auto f = [](int stage, int mb) {
    return sim::Action{0, false, static_cast<std::int16_t>(stage), 0, mb};
  };
  const auto b = [](int stage, int mb) {
    return sim::Action{1, false, static_cast<std::int16_t>(stage), 0, mb};
  };
  program.order = {{f(0, 0), f(0, 1), b(0, 0), f(0, 2), b(0, 1), b(0, 2)},
                   {f(1, 0), b(1, 0), f(1, 1), b(1, 1), f(1, 2), b(1, 2)}};
  return program;
}

void add_tasks(sim::Prediction& p) {
  const auto act = [&](std::uint32_t lane, int segment_id, std::uint32_t origin, double start,
                       std::vector<TaskId> deps) {
    const double seconds = segment_id == kForward ? 0.010 : 0.020;
    return add(p, lane, Stream::Compute, TaskKind::Action, segment_id, origin, start,
               start + seconds, std::move(deps));
  };
  const auto send = [&](std::uint32_t lane, Stream stream, std::uint32_t index, double start,
                        TaskId after) {
    return add(p, lane, stream, TaskKind::Message, kSend, index, start, start + 0.001, {after});
  };
  const TaskId f00 = act(0, kForward, 0, 0, {});
  const TaskId d0 = send(0, Stream::PpDown, 0, 0.010, f00);
  const TaskId f01 = act(0, kForward, 1, 0.010, {f00});
  const TaskId d1 = send(0, Stream::PpDown, 1, 0.020, f01);
  const TaskId f10 = act(1, kForward, 0, 0.011, {d0});
  const TaskId b10 = act(1, kBackward, 1, 0.021, {f10});
  const TaskId u0 = send(1, Stream::PpUp, 2, 0.041, b10);
  const TaskId f11 = act(1, kForward, 2, 0.041, {b10, d1});
  const TaskId b00 = act(0, kBackward, 2, 0.042, {f01, u0});
  const TaskId f02 = act(0, kForward, 3, 0.062, {b00});
  const TaskId d2 = send(0, Stream::PpDown, 3, 0.072, f02);
  const TaskId b11 = act(1, kBackward, 3, 0.051, {f11});
  const TaskId u1 = send(1, Stream::PpUp, 4, 0.071, b11);
  const TaskId f12 = act(1, kForward, 4, 0.073, {b11, d2});
  const TaskId b01 = act(0, kBackward, 4, 0.072, {f02, u1});
  const TaskId b12 = act(1, kBackward, 5, 0.083, {f12});
  const TaskId u2 = send(1, Stream::PpUp, 5, 0.103, b12);
  // The last message reaches rank 0 through a join, as lowering may do it.
  const TaskId join = add(p, 0, Stream::None, TaskKind::Join, kJoin, 0, 0.104, 0.104, {u2});
  const TaskId b02 = act(0, kBackward, 5, 0.104, {b01, join});
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    const double start = lane == 0 ? 0.124 : 0.103;
    const TaskId reduce = add(p, lane, Stream::Dp, TaskKind::Collective, kAllReduce, lane, start,
                              start + 0.005, {lane == 0 ? b02 : b12});
    add(p, lane, Stream::Compute, TaskKind::Optimizer, kUpdate, 0, start + 0.005, start + 0.007,
        {reduce});
  }
}

sim::MemoryPeak peak(int lane, double reserved, double at) {
  sim::MemoryPeak out;
  out.lane = lane;
  out.representative = 4 * lane;
  out.members = 4;
  out.reserved_bytes = reserved * kGiB;
  out.peak_bytes = (reserved - 2) * kGiB;
  out.capacity_bytes = 80 * kGiB;
  out.at_seconds = at;
  out.parts[static_cast<std::size_t>(MemoryPart::Parameters)] = 30 * kGiB;
  out.parts[static_cast<std::size_t>(MemoryPart::Activations)] = (reserved - 32) * kGiB;
  return out;
}

sim::Result example_result() {
  sim::Result r;
  r.engine = "reference";
  r.step_time = 0.131;
  r.step_time_low = 0.128;
  r.step_time_high = 0.135;
  r.tokens_per_s = 187599.7;
  r.samples_per_s = 91.6;
  r.mfu = 0.5123;
  r.hfu = 0.55;
  r.model_flops = 5.3e14;
  r.hardware_flops = 5.7e14;
  r.bubble_makespan = 0.24;
  r.bubble_longest_stage = 0.21;
  r.breakdown[static_cast<std::size_t>(Part::Compute)] = 0.090;
  r.breakdown[static_cast<std::size_t>(Part::Optimizer)] = 0.002;
  r.breakdown[static_cast<std::size_t>(Part::ExposedPp)] = 0.003;
  r.breakdown[static_cast<std::size_t>(Part::ExposedDp)] = 0.005;
  r.breakdown[static_cast<std::size_t>(Part::Bubble)] = 0.031;
  r.memory = {peak(0, 61.5, 0.015), peak(1, 58, 0.045)};
  r.traffic_bytes[static_cast<std::size_t>(Stream::PpDown)] = 768e6;
  r.traffic_bytes[static_cast<std::size_t>(Stream::Dp)] = 8e9;
  r.assumptions = {"selective recompute not stated in the source: none assumed"};
  return r;
}

}  // namespace

models::Scenario example_scenario() {
  models::Scenario s;
  s.name = "Example on 8 H100";
  s.file = "scenarios/example.yaml";
  s.hash = "0123456789abcdef";
  s.model.name = "tiny";
  s.cluster = example_cluster();
  s.stack.name = "megatron-2021";
  s.profiles.resize(1);
  s.profiles[0].name = "h100";
  s.parallel.tp = 2;
  s.parallel.pp = 2;
  s.parallel.dp = 2;
  s.parallel.zero = 1;
  s.parallel.sequence_parallel = true;
  s.batch = {12, 2, 2048, {}, {}};
  s.attention = "flash-2";
  return s;
}

sim::Prediction example_prediction() {
  sim::Prediction p;
  p.plan = example_plan();
  p.program = example_program();
  p.graph.lanes = {{0, 4, {{MemoryPart::Parameters, 30 * kGiB}}},
                   {4, 4, {{MemoryPart::Parameters, 28 * kGiB}}}};
  add_segments(p.graph);
  add_tasks(p);
  p.result = example_result();
  return p;
}

}  // namespace tests

TEST_CASE("the example's breakdown adds up to its step time", "[reports]") {
  const auto p = tests::example_prediction();
  double sum = 0;
  for (const double part : p.result.breakdown) sum += part;
  CHECK(sum == Approx(p.result.step_time));
  CHECK(p.timeline.makespan == Approx(p.result.step_time));
}

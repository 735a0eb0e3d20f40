// SPDX-License-Identifier: Apache-2.0
#include "sim/energy.hpp"

#include <catch2/catch.hpp>

#include "sim/engine/reference.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;
using models::PowerClass;

namespace {
double of(const ClassSeconds& s, PowerClass power) { return s[static_cast<std::size_t>(power)]; }
}  // namespace

TEST_CASE("a lane's time is told apart by what runs, and adds up") {
  TaskGraph graph;
  graph.lanes.resize(1);
  graph.segments.resize(2);
  graph.segments[0].seconds = 4;
  graph.segments[0].parts[static_cast<std::size_t>(Part::Compute)] = 3;
  graph.segments[0].parts[static_cast<std::size_t>(Part::ExposedTp)] = 1;
  graph.segments[0].matrix_share = 0.75;
  graph.segments[1].seconds = 5;
  Task kernel, message;
  kernel.seconds = 4;
  message.seconds = 5;
  message.segment = 1;
  message.stream = Stream::Dp;
  message.kind = TaskKind::Collective;
  const TaskId first = graph.add(kernel);
  const TaskId sent = graph.add(message, after(first));  // from 4 to 9
  Task last = kernel;
  last.seconds = 4;
  graph.add(last);  // from 4 to 8: the message is alone for one second
  Task end = kernel;
  graph.add(end, after(sent));  // from 9 to 13
  const Timeline timeline = run_reference(graph);
  REQUIRE(timeline.makespan == 13);
  const ClassSeconds s = class_seconds(graph, timeline, 0, 15).front();
  CHECK(of(s, PowerClass::Matrix) == Approx(3 * 2.25));
  CHECK(of(s, PowerClass::Memory) == Approx(3 * 0.75));
  CHECK(of(s, PowerClass::Communication) == Approx(3 + 1));
  CHECK(of(s, PowerClass::Idle) == Approx(2));
  CHECK(s[0] + s[1] + s[2] + s[3] == Approx(15).epsilon(1e-12));
  const ClassSeconds half = class_seconds(graph, timeline, 0, 6.5).front();
  CHECK(half[0] + half[1] + half[2] + half[3] == Approx(6.5).epsilon(1e-12));
}

TEST_CASE("energy is the integral of power: classes, hosts and lanes agree") {
  const models::Scenario s =
      models::read_scenario_file(PACELINE_SOURCE "/scenarios/06_llama3_70b_64_h100.yaml");
  const Prediction p = predict(s);
  const auto energy = energy_of(s, p.graph, p.timeline);
  REQUIRE(energy);
  double devices = 0, lanes = 0;
  for (const models::PowerRange& part : energy->by_class) devices += part.middle;
  for (std::size_t lane = 0; lane < p.graph.lanes.size(); ++lane)
    lanes += energy->watts[lane] * static_cast<double>(p.graph.lanes[lane].members) *
             p.timeline.makespan;
  CHECK(devices + energy->host.middle == Approx(energy->step.middle).epsilon(1e-9));
  CHECK(lanes == Approx(devices).epsilon(1e-9));
  CHECK(energy->step.low < energy->step.middle);
  CHECK(energy->step.middle < energy->step.high);
  // A node of eight H100 in training was metered at 7.1 kW on average, at most 8.4 kW (MLPerf
  // Training 4.1, Dell XE9680, Llama 2 70B LoRA; arXiv:2412.08602): any sane model is near.
  const double node = energy->step.middle / p.timeline.makespan / 8;
  CHECK(node > 6000);
  CHECK(node < 8500);
}

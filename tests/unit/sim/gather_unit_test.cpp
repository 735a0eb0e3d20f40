// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string_view>

#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// Two ranks with two stages each, four microbatches, two replicas with sharded weights.
Prediction sharded(const std::string& schedule) {
  return predict(
      ::tests::small_gpt("parallel: {pp: 2, dp: 2, zero: 3}\n"
                         "batch: {global: 16, micro: 2}\nschedule: " +
                         schedule));
}

std::size_t tasks_named(const Prediction& p, std::string_view name, std::uint32_t lane) {
  const TaskGraph& graph = p.graph;
  return static_cast<std::size_t>(
      std::count_if(graph.tasks.begin(), graph.tasks.end(), [&](const Task& task) {
        return task.lane == lane && graph.segments[task.segment].name == name;
      }));
}

/// The most a lane holds of a part beyond what is resident, in the order of its tasks.
double most_held(const Prediction& p, MemoryPart part, std::uint32_t lane, double& left) {
  double most = 0;
  left = 0;
  for (const Task& task : p.graph.tasks) {
    if (task.lane != lane) continue;
    const Segment& segment = p.graph.segments[task.segment];
    for (const auto* deltas : {&segment.at_start, &segment.at_finish}) {
      for (const MemoryDelta& delta : *deltas) left += delta.part == part ? delta.bytes : 0;
      most = std::max(most, left);
    }
  }
  return most;
}

}  // namespace

TEST_CASE("breadth-first gathers sharded weights once for a pass of a stage", "[sim]") {
  const Prediction each = sharded("{name: interleaved-1f1b, chunks: 2}");
  const Prediction shared = sharded("{name: breadth-first, chunks: 2}");
  REQUIRE(each.program.gather_unit == 0);
  REQUIRE(shared.program.gather_unit == 4);
  for (const std::uint32_t lane : {0U, 1U}) {
    for (const char* name : {"all_gather dp", "reduce_scatter dp"}) {
      const std::size_t once = tasks_named(shared, name, lane);
      CHECK(once > 0);
      CHECK(tasks_named(each, name, lane) == 4 * once);
    }
    double left = 0;
    CHECK(most_held(each, MemoryPart::Parameters, lane, left) == 0);
    // The half of the stage's weights that is not the rank's own, 2 bytes each, and of its
    // gradients.
    const double weights = most_held(shared, MemoryPart::Parameters, lane, left);
    CHECK(left == 0);
    const double gradients = most_held(shared, MemoryPart::Gradients, lane, left);
    CHECK(left == 0);
    CHECK(weights > 0);
    CHECK(gradients >= weights);
  }
  const auto sent = [](const Prediction& p) {
    return p.result.traffic_bytes[static_cast<std::size_t>(Stream::Dp)];
  };
  CHECK(sent(each) > 3 * sent(shared));  // the tied embedding is summed once in both
}

TEST_CASE("a unit of ZeroPP shares a gathering", "[sim]") {
  const Prediction two = sharded("{name: zeropp, chunks: 2, group: 2}");
  const Prediction four = sharded("{name: zeropp, chunks: 2, group: 4}");
  CHECK(two.program.gather_unit == 2);
  CHECK(tasks_named(two, "all_gather dp", 0) == 2 * tasks_named(four, "all_gather dp", 0));
}

TEST_CASE("units read back from a program's text", "[sim]") {
  constexpr std::string_view text =
      "program stages=1 microbatches=2 slices=1 gather_unit=2\npass F down\nrank 0: 0F0 0F1\n";
  const Program program = parse_program(text, "t");
  CHECK(program.gather_unit == 2);
  CHECK(to_text(program) == text);
  CHECK_THROWS_WITH(parse_program("program stages=-2 microbatches=1 slices=1", "t"),
                    "t:1:16: expected a stages number; the first line reads: program stages=2 "
                    "microbatches=1 slices=1");
}

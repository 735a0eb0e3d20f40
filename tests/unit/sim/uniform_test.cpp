// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/uniform.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

StageTimes times(int stages, double f, double b, double w, double hop) {
  return uniform_times(stages, {Seconds(f), Seconds(b), Seconds(w), base::Bytes(1)}, Seconds(hop));
}

}  // namespace

TEST_CASE("one task per action, one message per boundary that crosses ranks", "[sim]") {
  const TaskGraph graph = timed(one_f_one_b({2, 1, 1}), times(2, 1, 2, 3, 0.5));
  REQUIRE(graph.tasks.size() == 6);
  const Timeline timeline = run_reference(graph);
  // 0F0, hop, 1F0, 1BW0, hop, 0BW0
  CHECK(timeline.makespan == 1 + 0.5 + 1 + 5 + 0.5 + 5);
  CHECK(graph.tasks[1].stream == Stream::PpDown);
  CHECK(graph.tasks[1].kind == TaskKind::Message);
  CHECK(graph.tasks[4].stream == Stream::PpUp);
  CHECK(graph.tasks[4].lane == 1);
  CHECK(graph.segments[graph.tasks[3].segment].name == "BW stage 1");
}

TEST_CASE("chunks of one rank hand over without a message", "[sim]") {
  const TaskGraph graph = timed(breadth_first({1, 3, 2}), times(3, 1, 1, 1, 9));
  CHECK(graph.tasks.size() == 12);
  CHECK(run_reference(graph).makespan == 18);
}

TEST_CASE("a message does not hold up its sender", "[sim]") {
  const TaskGraph graph = timed(gpipe({2, 1, 2}), times(2, 1, 1, 0, 0.75));
  const Timeline timeline = run_reference(graph);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.lane == 0 && task.origin == 1 && task.kind == TaskKind::Action) {
      CHECK(timeline.start[t] == 1);
    }
  }
}

TEST_CASE("split and fused backwards add up and mixed ones exchange gradients", "[sim]") {
  const char* const text =
      "program stages=2 microbatches=1 slices=1\npass F down\npass B up reads F\n"
      "pass W local reads B frees F\npass BW up reads F frees F\n"
      "rank 0: 0F0 0B0 0W0\nrank 1: 1F0 1BW0\n";
  const TaskGraph graph = timed(parse_program(text, ""), times(2, 1, 2, 4, 0));
  CHECK(run_reference(graph).makespan == 1 + 1 + 6 + 2 + 4);
}

TEST_CASE("a fused group starts when all its members can", "[sim]") {
  const char* const text =
      "program stages=2 microbatches=2 slices=1\npass F down\npass BW up reads F frees F\n"
      "rank 0: 0F0 (0F1&0BW0) 0BW1\nrank 1: 1F0 1BW0 1F1 1BW1\n";
  const TaskGraph graph = timed(parse_program(text, ""), times(2, 1, 2, 0, 0));
  const Timeline timeline = run_reference(graph);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.lane != 0 || task.kind != TaskKind::Action) continue;
    if (task.origin == 1) CHECK(timeline.start[t] == 4);  // after 1BW0, not after 0F0
    if (task.origin == 2) CHECK(timeline.start[t] == 5);
  }
}

TEST_CASE("stage times that do not fit the program are errors", "[sim]") {
  CHECK_THROWS_WITH(timed(gpipe({2, 1, 2}), times(3, 1, 1, 1, 0)),
                    Catch::Matchers::Contains("3 stage times for 2 stages"));
  const char* const text = "program stages=1 microbatches=1 slices=1\npass X local\nrank 0: 0X0\n";
  CHECK_THROWS_WITH(timed(parse_program(text, ""), times(1, 1, 1, 1, 0)),
                    Catch::Matchers::Contains("pass X has no stage time"));
}

TEST_CASE("passes of their own names take the times given for them", "[sim]") {
  const char* const text =
      "program stages=2 microbatches=2 slices=1\npass F down\npass X local sparse\n"
      "rank 0: 0F0 0X0 0X1 0F1\nrank 1: 1F0 1X1 1F1\n";
  StageTimes given = times(2, 1, 1, 1, 0);
  given.others = {{"X", {{Seconds(0.5), Seconds(0.25)}, {Seconds(3)}}}};  // stage 1: one for all
  const Program program = parse_program(text, "");
  const Timeline timeline = run_reference(timed(program, given));
  CHECK(timeline.makespan == Approx(6));  // 1F0 from 1 to 2, 1X1 to 5, 1F1 to 6
  given.others[0].seconds[0] = {Seconds(0.5), Seconds(0.25), Seconds(1)};
  CHECK_NOTHROW(timed(program, given));
  given.others[0].seconds[0] = {};
  CHECK_THROWS_WITH(timed(program, given),
                    Catch::Matchers::Contains("pass X of stage 0 has 0 times"));
}

TEST_CASE("what another rank reads comes as a message", "[sim]") {
  const char* const text =
      "program stages=2 microbatches=1 slices=1\npass F down\npass R local reads F@all\n"
      "rank 0: 0F0 0R0\nrank 1: 1F0 1R0\n";
  const Timeline timeline = run_reference(timed(parse_program(text, ""), times(2, 1, 1, 1, 0.5)));
  CHECK(timeline.makespan == Approx(1 + 0.5 + 1 + 0.5 + 1));  // 0R0 waits for 1F0 and its message
}

TEST_CASE("first and last stage are those a pass runs on", "[sim]") {
  const char* const text =
      "program stages=3 microbatches=1 slices=1\npass F down stages 0-1\n"
      "pass B up reads F@last\nrank 0: 0F0 1F0 2B0 1B0 0B0\n";
  Program program = parse_program(text, "");
  CHECK_NOTHROW(timed(program, times(3, 1, 1, 1, 0)));
  std::swap(program.order[0][1], program.order[0][2]);  // 2B0 before 1F0
  CHECK_THROWS_AS(timed(program, times(3, 1, 1, 1, 0)), base::Error);
}

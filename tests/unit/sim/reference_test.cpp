// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/reference.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

Task work(double seconds, Stream stream = Stream::Compute, float slowdown = 1,
          std::uint32_t lane = 0) {
  Task task;
  task.seconds = seconds;
  task.stream = stream;
  task.slowdown = slowdown;
  task.lane = lane;
  return task;
}

TaskGraph lanes(std::size_t count = 1) {
  TaskGraph graph;
  graph.lanes.resize(count);
  return graph;
}

TaskId add(TaskGraph& graph, const Task& task, std::vector<TaskId> deps = {}) {
  return graph.add(task, deps);
}

constexpr EngineOptions kReady{models::Dispatch::Ready};

std::string error_of(const TaskGraph& graph, const EngineOptions& options = {}) {
  return ::tests::message_of([&] { run_reference(graph, options); });
}

}  // namespace

TEST_CASE("a graph without tasks takes no time", "[sim]") {
  CHECK(run_reference(TaskGraph{}).makespan == 0);
  CHECK(run_reference(lanes(2), kReady).makespan == 0);
}

TEST_CASE("tasks wait for their dependencies and for their stream", "[sim]") {
  TaskGraph graph = lanes(2);
  const TaskId a = add(graph, work(3));
  const TaskId send = add(graph, work(0.5, Stream::PpDown), {a});
  const TaskId b = add(graph, work(2, Stream::Compute, 1, 1), {send});
  const TaskId c = add(graph, work(1));  // behind a on its stream
  const TaskId join = add(graph, work(0, Stream::None), {b, c});
  const Timeline timeline = run_reference(graph);
  CHECK(timeline.start == std::vector<double>{0, 3, 3.5, 3, 5.5});
  CHECK(timeline.finish[join] == 5.5);
  CHECK(timeline.makespan == 5.5);
}

TEST_CASE("joins have no order among themselves", "[sim]") {
  TaskGraph graph = lanes();
  const TaskId a = add(graph, work(5));
  add(graph, work(0, Stream::None), {a});
  const TaskId second = add(graph, work(1, Stream::None));
  CHECK(run_reference(graph).start[second] == 0);
}

TEST_CASE("dependencies may be added later", "[sim]") {
  TaskGraph graph = lanes(2);
  const TaskId late = add(graph, work(1, Stream::Compute, 1, 0), {2});
  add(graph, work(1, Stream::Compute, 1, 0));
  add(graph, work(4, Stream::Compute, 1, 1));
  const Timeline timeline = run_reference(graph);
  CHECK(timeline.start[late] == 4);
  CHECK(timeline.makespan == 6);
}

TEST_CASE("compute runs slower while communication of its lane is active", "[sim]") {
  TaskGraph graph = lanes(2);
  const TaskId compute = add(graph, work(4, Stream::Compute, 2));
  const TaskId reduce = add(graph, work(3, Stream::Dp));
  const TaskId other = add(graph, work(4, Stream::Compute, 2, 1));  // no communication on lane 1
  const TaskId copy = add(graph, work(9, Stream::CopyIn, 1, 1));    // copies do not count
  const Timeline timeline = run_reference(graph);
  CHECK(timeline.finish[reduce] == 3);
  CHECK(timeline.finish[compute] == Approx(3 + 2.5));  // 1.5 s of work done in 3 s
  CHECK(timeline.finish[other] == 4);
  CHECK(timeline.finish[copy] == 9);
}

TEST_CASE("two communications at once slow compute down as one does", "[sim]") {
  TaskGraph graph = lanes();
  const TaskId compute = add(graph, work(4, Stream::Compute, 4));
  add(graph, work(1, Stream::Dp));
  add(graph, work(2, Stream::Ep));
  CHECK(run_reference(graph).finish[compute] == Approx(2 + 3.5));
}

TEST_CASE("a task that starts amid communication is slow until that ends", "[sim]") {
  TaskGraph graph = lanes();
  const TaskId first = add(graph, work(1, Stream::Compute, 1));
  const TaskId second = add(graph, work(2, Stream::Compute, 2), {first});
  add(graph, work(2, Stream::Dp));
  add(graph, work(1, Stream::Cp), {first});  // ends with the other
  CHECK(run_reference(graph).finish[second] == Approx(2 + 1.5));
}

TEST_CASE("ready dispatch runs what can run, in order of addition", "[sim]") {
  TaskGraph graph = lanes(2);
  const TaskId slow = add(graph, work(10, Stream::Compute, 1, 1));
  const TaskId head = add(graph, work(1), {slow});
  const TaskId next = add(graph, work(2));
  const TaskId last = add(graph, work(3));
  const Timeline fixed = run_reference(graph);
  CHECK(fixed.start[head] == 10);
  CHECK(fixed.start[next] == 11);
  const Timeline ready = run_reference(graph, kReady);
  CHECK(ready.start[next] == 0);
  CHECK(ready.start[last] == 2);
  CHECK(ready.start[head] == 10);
}

TEST_CASE("ready dispatch chooses after everything that ends at that time has ended", "[sim]") {
  TaskGraph graph = lanes(2);
  const TaskId other = add(graph, work(1, Stream::Compute, 1, 1));
  const TaskId better = add(graph, work(5), {other});  // gets ready at 1, added before `worse`
  const TaskId first = add(graph, work(1));
  const TaskId worse = add(graph, work(5), {first});  // gets ready at 1 as well
  const Timeline ready = run_reference(graph, kReady);
  CHECK(ready.start[first] == 0);
  CHECK(ready.start[better] == 1);
  CHECK(ready.start[worse] == 6);
}

TEST_CASE("a circle is an error that names its tasks", "[sim]") {
  using Catch::Matchers::Contains;
  TaskGraph graph = lanes();
  graph.segments.resize(1);
  graph.segments[0].name = "F stage 3";
  add(graph, work(1), {2});
  add(graph, work(1, Stream::Dp), {0});
  add(graph, work(1, Stream::Tp), {1});
  for (const EngineOptions& options : {EngineOptions{}, kReady}) {
    const std::string error = error_of(graph, options);
    CHECK_THAT(error, Contains("tasks wait for each other in a circle"));
    for (const char* name : {"task 0 (F stage 3, lane 0)", "task 1 (", "task 2 ("}) {
      CHECK_THAT(error, Contains(name));
    }
  }
  graph.tasks[0].slowdown = 2;
  CHECK_THAT(error_of(graph), Contains("circle"));
}

TEST_CASE("a circle through the order of a stream exists under fixed dispatch only", "[sim]") {
  TaskGraph graph = lanes(2);
  add(graph, work(1), {1});
  add(graph, work(1));
  CHECK_THAT(error_of(graph), Catch::Matchers::Contains("circle"));
  CHECK(run_reference(graph, kReady).makespan == 2);
}

TEST_CASE("a task that waits for itself is a circle", "[sim]") {
  TaskGraph graph = lanes();
  add(graph, work(1), {0});
  CHECK_THAT(error_of(graph), Catch::Matchers::Contains("circle"));
}

TEST_CASE("malformed graphs are errors that name the task", "[sim]") {
  using Catch::Matchers::Contains;
  const auto with = [](const Task& task, std::vector<TaskId> deps = {}) {
    TaskGraph graph = lanes();
    add(graph, work(1));
    add(graph, task, std::move(deps));
    return error_of(graph);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  CHECK_THAT(with(work(1), {7}),
             Contains("task 1 (lane 0) waits for task 7, but there are only 2"));
  CHECK_THAT(with(work(1), {0xffffffffU}), Contains("waits for task 4294967295"));
  CHECK_THAT(with(work(1, Stream::Compute, 1, 3)), Contains("is on lane 3 of 1"));
  CHECK_THAT(with(work(-1)), Contains("task 1 (lane 0) takes -1"));
  CHECK_THAT(with(work(kNan)), Contains("finite"));
  CHECK_THAT(with(work(kInf)), Contains("finite"));
  CHECK_THAT(with(work(1, Stream::Compute, 0.5F)), Contains("slowdown"));
  TaskGraph graph = lanes();
  add(graph, work(1.7e308));
  add(graph, work(1.7e308));
  CHECK_THAT(error_of(graph), Contains("more than a number can hold"));
}

TEST_CASE("a reused workspace gives the same answer in the same memory", "[sim]") {
  TaskGraph big = lanes(2), small = lanes(1);
  for (int i = 0; i < 100; ++i) add(big, work(1, Stream::Compute, i % 3 ? 1 : 2, i % 2), {});
  add(big, work(50, Stream::Dp));
  add(small, work(3));
  Workspace workspace;
  const Timeline first = run_reference(big, workspace);
  CHECK(run_reference(small, workspace).makespan == 3);
  const double* memory = workspace.timeline.start.data();
  const Timeline& again = run_reference(big, workspace);
  CHECK(again.start == first.start);
  CHECK(again.finish == first.finish);
  CHECK(again.start.data() == memory);
}

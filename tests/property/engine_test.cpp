// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>

#include "sim/engine/graph_order.hpp"
#include "sim/engine/reference.hpp"
#include "sim/verify.hpp"
#include "tests/property/random_graph.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

constexpr int kGraphs = 400;
constexpr EngineOptions kFixed{models::Dispatch::Fixed};
constexpr EngineOptions kReady{models::Dispatch::Ready};

/// The semantics once more, written to be obvious: look at all tasks at every moment something
/// ends.
class StepOracle {
 public:
  StepOracle(const TaskGraph& graph, bool ready) : graph_(graph), ready_(ready) {
    const std::size_t n = graph.tasks.size();
    state_.assign(n, State::Waiting);
    left_.resize(n);
    for (std::size_t t = 0; t < n; ++t) left_[t] = graph.tasks[t].seconds;
    timeline_.start.assign(n, 0);
    timeline_.finish.assign(n, 0);
  }

  Timeline run() {
    while (unfinished()) {
      if (end_and_start()) continue;
      const double step = shortest_step();
      for (TaskId t = 0; t < state_.size(); ++t) {
        if (state_[t] == State::Running) left_[t] -= step * rate(t);
      }
      now_ += step;
    }
    timeline_.makespan = now_;
    return timeline_;
  }

 private:
  enum class State { Waiting, Running, Finished };

  bool unfinished() const {
    return std::any_of(state_.begin(), state_.end(), [](State s) { return s != State::Finished; });
  }

  /// Ends what has no work left; only if nothing did, starts joins that can start; only if none
  /// did, the rest. False when nothing happened.
  bool end_and_start() {
    bool any = false;
    for (TaskId t = 0; t < state_.size(); ++t) {
      if (state_[t] != State::Running || left_[t] > 1e-12) continue;
      state_[t] = State::Finished;
      timeline_.finish[t] = now_;
      any = true;
    }
    return any || start(true) || start(false);
  }

  bool start(bool joins) {
    bool any = false;
    for (TaskId t = 0; t < state_.size(); ++t) {
      if (joins != (graph_.tasks[t].stream == Stream::None)) continue;
      if (state_[t] != State::Waiting || !can_start(t)) continue;
      state_[t] = State::Running;
      timeline_.start[t] = now_;
      any = true;
    }
    return any;
  }

  bool same_stream(TaskId a, TaskId b) const {
    const Task &x = graph_.tasks[a], &y = graph_.tasks[b];
    return x.stream != Stream::None && x.stream == y.stream && x.lane == y.lane;
  }

  bool can_start(TaskId t) const {
    for (const TaskId d : graph_.dependencies(t)) {
      if (state_[d] != State::Finished) return false;
    }
    for (TaskId other = 0; other < state_.size(); ++other) {
      if (other == t || !same_stream(t, other)) continue;
      if (state_[other] == State::Running) return false;
      if (!ready_ && other < t && state_[other] != State::Finished) return false;
    }
    return true;
  }

  double rate(TaskId t) const {
    const Task& task = graph_.tasks[t];
    if (task.stream != Stream::Compute) return 1;
    for (TaskId other = 0; other < state_.size(); ++other) {
      const Stream s = graph_.tasks[other].stream;
      const bool communication = s == Stream::Ep || s == Stream::PpDown || s == Stream::PpUp ||
                                 s == Stream::PpAll || s == Stream::Dp;
      if (communication && state_[other] == State::Running &&
          graph_.tasks[other].lane == task.lane) {
        return 1 / static_cast<double>(task.slowdown);
      }
    }
    return 1;
  }

  double shortest_step() const {
    double step = std::numeric_limits<double>::infinity();
    for (TaskId t = 0; t < state_.size(); ++t) {
      if (state_[t] == State::Running) step = std::min(step, left_[t] / rate(t));
    }
    return step;
  }

  const TaskGraph& graph_;
  const bool ready_;
  double now_ = 0;
  std::vector<State> state_;
  std::vector<double> left_;
  Timeline timeline_;
};

void check_near(const Timeline& a, const Timeline& b) {
  REQUIRE(a.start.size() == b.start.size());
  for (std::size_t t = 0; t < a.start.size(); ++t) {
    REQUIRE(a.start[t] == Approx(b.start[t]).margin(1e-9));
    REQUIRE(a.finish[t] == Approx(b.finish[t]).margin(1e-9));
  }
  REQUIRE(a.makespan == Approx(b.makespan).margin(1e-9));
}

void check_same(const Timeline& a, const Timeline& b) {
  REQUIRE(a.start == b.start);
  REQUIRE(a.finish == b.finish);
  REQUIRE(a.makespan == b.makespan);
}

}  // namespace

TEST_CASE("all ways to evaluate a graph at full rate give the same bits", "[sim]") {
  base::Rng rng(1);
  Workspace events, depth_first;
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, false);
    const Timeline in_order = run_reference(graph);
    const std::size_t n = graph.tasks.size();
    for (Workspace* workspace : {&events, &depth_first}) {
      workspace->timeline.start.assign(n, -1);
      workspace->timeline.finish.assign(n, -1);
      workspace->timeline.makespan = 0;
    }
    evaluate_events(graph, events, kFixed);
    check_same(in_order, events.timeline);
    evaluate_depth_first(graph, depth_first);
    check_same(in_order, depth_first.timeline);
  }
}

TEST_CASE("the order of addition across streams does not matter", "[sim]") {
  base::Rng rng(2);
  int unordered = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, i % 2 == 0);
    const TaskGraph moved = by_lane(graph);
    unordered += inspect(moved).ordered ? 0 : 1;
    const Timeline a = run_reference(graph), b = run_reference(moved);
    REQUIRE(a.makespan == Approx(b.makespan).margin(1e-12));
    for (TaskId t = 0; t < moved.tasks.size(); ++t) {
      const TaskId same = moved.tasks[t].origin;
      REQUIRE(b.start[t] == Approx(a.start[same]).margin(1e-12));
      REQUIRE(b.finish[t] == Approx(a.finish[same]).margin(1e-12));
    }
  }
  CHECK(unordered > kGraphs / 4);
}

TEST_CASE("the event queue follows the rules step by step", "[sim]") {
  base::Rng rng(3);
  int slowed = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, i % 4 != 0);
    for (const EngineOptions& options : {kFixed, kReady}) {
      const Timeline timeline = run_reference(graph, options);
      check_near(timeline, StepOracle(graph, options.dispatch == models::Dispatch::Ready).run());
      for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
        slowed += timeline.finish[t] - timeline.start[t] > graph.tasks[t].seconds + 1e-9 ? 1 : 0;
      }
    }
  }
  CHECK(slowed > kGraphs);
}

TEST_CASE("the makespan is at least the busiest stream and at most the sum of all work", "[sim]") {
  base::Rng rng(4);
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, i % 2 == 0);
    std::vector<double> busy(graph.lanes.size() * kStreams, 0);
    double slowest = 0;
    for (const Task& task : graph.tasks) {
      if (task.stream != Stream::None) busy[stream_slot(task)] += task.seconds;
      slowest += task.seconds * static_cast<double>(task.slowdown);
    }
    for (const EngineOptions& options : {kFixed, kReady}) {
      const double makespan = run_reference(graph, options).makespan;
      for (const double seconds : busy) REQUIRE(makespan >= seconds - 1e-9);
      REQUIRE(makespan <= slowest + 1e-9);
    }
  }
}

TEST_CASE("scaling all times scales every start and end", "[sim]") {
  base::Rng rng(5);
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, i % 2 == 0);
    TaskGraph scaled = graph;
    for (Task& task : scaled.tasks) task.seconds *= 8;  // exact in binary
    const Timeline a = run_reference(graph), b = run_reference(scaled);
    REQUIRE(b.makespan == 8 * a.makespan);
    for (std::size_t t = 0; t < a.start.size(); ++t) REQUIRE(b.start[t] == 8 * a.start[t]);
  }
}

TEST_CASE("a slower task never makes a fixed order faster at full rate", "[sim]") {
  base::Rng rng(6);
  for (int i = 0; i < kGraphs; ++i) {
    TaskGraph graph = random_graph(rng, false);
    const Timeline before = run_reference(graph);
    graph.tasks[rng.below(graph.tasks.size())].seconds += 1;
    const Timeline after = run_reference(graph);
    for (std::size_t t = 0; t < before.finish.size(); ++t) {
      REQUIRE(after.finish[t] >= before.finish[t]);
    }
  }
}

TEST_CASE("the critical path has no gap in any graph", "[sim]") {
  base::Rng rng(7);
  for (int i = 0; i < kGraphs; ++i) {
    const TaskGraph graph = random_graph(rng, false);
    const Timeline timeline = run_reference(graph, i % 2 == 0 ? kFixed : kReady);
    const auto path = critical_path(graph, timeline);
    REQUIRE_FALSE(path.empty());
    REQUIRE(timeline.finish[path.back()] == timeline.makespan);
    double sum = 0;
    for (const TaskId t : path) sum += graph.tasks[t].seconds;
    REQUIRE(sum == Approx(timeline.makespan));
  }
}

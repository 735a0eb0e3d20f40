// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/rng.hpp"
#include "sim/jitter.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

constexpr EngineOptions ready(int buffers, double coordination = 0) {
  return {models::Dispatch::Ready, buffers, coordination};
}

TaskGraph equal_1f1b(int stages, int microbatches) {
  return timed(one_f_one_b({stages, 1, microbatches}),
               uniform_times(stages, {Seconds(1), Seconds(1), Seconds(0.75), base::Bytes(1)}));
}

/// A Program that runs: stages on random ranks, actions in a random order that some execution has.
/// Now and then an update of a stage.
Program random_program(base::Rng& rng) {
  Program p;
  p.stages = 1 + static_cast<int>(rng.below(6));
  p.microbatches = 1 + static_cast<int>(rng.below(6));
  p.passes.resize(4);
  p.passes[0] = {"F", Direction::Down, {}, {}};
  p.passes[1] = {"B", Direction::Up, {Read(0)}, {}};
  p.passes[2] = {"W", Direction::None, {Read(1)}, {0}};
  p.passes[3].name = "U";
  p.passes[3].sparse = true;
  p.order.resize(1 + rng.below(4));
  std::vector<std::size_t> rank;
  for (int s = 0; s < p.stages; ++s) rank.push_back(rng.below(p.order.size()));
  struct Next {
    int pass = 0;  ///< to come; 3: done
  };
  std::vector<std::vector<Next>> next(static_cast<std::size_t>(p.stages),
                                      std::vector<Next>(static_cast<std::size_t>(p.microbatches)));
  const int all = 3 * p.stages * p.microbatches;
  for (int done = 0; done < all;) {
    const auto s = rng.below(next.size()), m = rng.below(next[s].size());
    int& pass = next[s][m].pass;
    const bool waits = (pass == 0 && s > 0 && next[s - 1][m].pass < 1) ||
                       (pass == 1 && s + 1 < next.size() && next[s + 1][m].pass < 2);
    if (pass == 3 || waits) continue;
    Action a;
    a.pass = static_cast<std::uint8_t>(pass++);
    a.stage = static_cast<std::int16_t>(s);
    a.microbatch = static_cast<std::int32_t>(m);
    p.order[rank[s]].push_back(a);
    ++done;
    if (a.pass == 2 && rng.below(3) == 0) {
      a.pass = 3;
      p.order[rank[s]].push_back(a);
    }
  }
  return p;
}

TaskGraph random_times(const Program& program, base::Rng& rng) {
  StageTime zero;
  StageTimes times = uniform_times(program.stages, zero);
  TaskGraph graph = timed(program, times);
  for (Task& task : graph.tasks) task.seconds = static_cast<double>(rng.below(9)) / 4;
  return graph;
}

/// Between the start of a message and that of the first task of another lane that waits for it.
struct Stay {
  double from, to;
};

/// At no time do more than `buffers` messages of a boundary stay. One that leaves makes room at the
/// same instant.
void check_buffers(const TaskGraph& graph, const Timeline& timeline, int buffers) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Stay>> stays;
  std::vector<bool> seen(graph.tasks.size(), false);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    for (const TaskId d : graph.dependencies(t)) {
      if (graph.boundary(d) == kNoTask || seen[d] || graph.tasks[d].lane == graph.tasks[t].lane)
        continue;
      seen[d] = true;
      stays[{graph.tasks[t].lane, graph.boundary(d)}].push_back(
          {timeline.start[d], timeline.start[t]});
    }
  }
  for (const auto& [where, list] : stays) {
    for (const Stay& at : list) {
      const auto staying = std::count_if(list.begin(), list.end(), [&](const Stay& other) {
        return other.from <= at.from && other.to > at.from;
      });
      REQUIRE(staying <= std::max(1, buffers));
    }
  }
}

void check_rules(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<std::vector<std::pair<double, double>>> streams(graph.lanes.size() * kStreams);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    REQUIRE(timeline.finish[t] >= timeline.start[t]);
    for (const TaskId d : graph.dependencies(t)) REQUIRE(timeline.start[t] >= timeline.finish[d]);
    const Task& task = graph.tasks[t];
    streams[task.lane * kStreams + static_cast<std::size_t>(task.stream)].emplace_back(
        timeline.start[t], timeline.finish[t]);
  }
  for (auto& stream : streams) {
    std::sort(stream.begin(), stream.end());
    for (std::size_t i = 1; i < stream.size(); ++i)
      REQUIRE(stream[i].first >= stream[i - 1].second);
  }
}

/// Step times under ready and fixed dispatch, averaged over the same draws.
struct Means {
  double fixed = 0, ready = 0;
  double gain() const { return fixed / ready - 1; }
};
Means compare_under_jitter(const TaskGraph& graph, double sigma, int buffers) {
  constexpr int kRepetitions = 100;
  const UnfoldedGraph unfolded = unfold_replicas(graph, 1);
  models::Jitter jitter;
  jitter.compute.sigma = sigma;
  const std::vector<double> no_stragglers(graph.lanes.size(), 1.0);
  const JitterDraws draws(unfolded, jitter, no_stragglers);
  TaskGraph step = unfolded.graph;
  Workspace workspace;
  Means means;
  for (int r = 0; r < kRepetitions; ++r) {
    draws.apply(r, step);
    means.fixed += run_reference(step, workspace).makespan / kRepetitions;
    means.ready += run_reference(step, workspace, ready(buffers)).makespan / kRepetitions;
  }
  return means;
}

}  // namespace

TEST_CASE("on equal stages ready dispatch takes the time of 1F1B's order", "[sim]") {
  for (const int stages : {1, 2, 4, 8, 16}) {
    for (const int microbatches : {1, stages, 2 * stages, 4 * stages + 1}) {
      const TaskGraph graph = equal_1f1b(stages, microbatches);
      const double fixed = run_reference(graph).makespan;
      for (const int buffers : {1, 2, 5, 0})
        CHECK(run_reference(graph, ready(buffers)).makespan == fixed);
    }
  }
}

TEST_CASE("the gain of ready dispatch over a fixed order grows with jitter, none without",
          "[sim]") {
  const TaskGraph graph = equal_1f1b(8, 32);
  for (const int buffers : {2, 4, 0}) {
    double before = compare_under_jitter(graph, 0, buffers).gain();
    CHECK(before == 0);
    for (const double sigma : {0.1, 0.2, 0.4}) {
      const double gain = compare_under_jitter(graph, sigma, buffers).gain();
      CHECK(gain > before + 0.005);
      before = gain;
    }
  }
}

TEST_CASE("ready dispatch never deadlocks and keeps to its buffers", "[sim]") {
  base::Rng rng(11);
  int overtaken = 0, bounded = 0;
  for (int i = 0; i < 600; ++i) {
    const Program program = random_program(rng);
    const TaskGraph graph = random_times(program, rng);
    const Timeline free = run_reference(graph, ready(0));
    check_rules(graph, free);
    for (const int buffers : {1, 2, 3}) {
      const Timeline timeline = run_reference(graph, ready(buffers));
      check_rules(graph, timeline);
      check_buffers(graph, timeline, buffers);
      bounded += timeline.start != free.start ? 1 : 0;
    }
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      for (TaskId u = 0; u < t; ++u) {
        const Task &a = graph.tasks[t], &b = graph.tasks[u];
        if (a.lane == b.lane && a.stream == Stream::Compute && b.stream == a.stream)
          overtaken += free.start[t] < free.start[u] ? 1 : 0;
      }
    }
  }
  CHECK(overtaken > 1000);
  CHECK(bounded > 100);
}

TEST_CASE("nothing of a stage overtakes its updates", "[sim]") {
  base::Rng rng(12);
  int updates = 0;
  for (int i = 0; i < 300; ++i) {
    const Program program = random_program(rng);
    const TaskGraph graph = random_times(program, rng);
    const Timeline timeline = run_reference(graph, ready(1 + static_cast<int>(rng.below(2))));
    for (TaskId u = 0; u < graph.tasks.size(); ++u) {
      const Task& update = graph.tasks[u];
      if (update.kind != TaskKind::Action) continue;
      const Action& at = program.order[update.lane][update.origin];
      if (at.pass != 3) continue;
      ++updates;
      for (TaskId t = 0; t < graph.tasks.size(); ++t) {
        const Task& task = graph.tasks[t];
        if (task.kind != TaskKind::Action || task.lane != update.lane) continue;
        if (program.order[task.lane][task.origin].stage != at.stage) continue;
        if (task.origin < update.origin) CHECK(timeline.finish[t] <= timeline.start[u]);
        if (task.origin > update.origin) CHECK(timeline.start[t] >= timeline.finish[u]);
      }
    }
  }
  CHECK(updates > 300);
}

TEST_CASE("agreeing on an action costs its time once per action", "[sim]") {
  const TaskGraph graph = equal_1f1b(1, 8);
  const double alone = run_reference(graph, ready(2)).makespan;
  CHECK(run_reference(graph, ready(2, 0.25)).makespan == alone + 16 * 0.25);
  const TaskGraph long_one = equal_1f1b(4, 8);
  const double with = run_reference(long_one, ready(2, 0.25)).makespan;
  CHECK(with >= run_reference(long_one, ready(2)).makespan + 16 * 0.25);
}

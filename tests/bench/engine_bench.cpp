// SPDX-License-Identifier: Apache-2.0
// Reference engine: tasks per second against graph size, on 1F1B with 16 ranks (4 tasks per
// microbatch and rank: F, BW and their messages). `bytes_per_task` counts the graph and its
// Timeline.
#include <benchmark/benchmark.h>

#include "sim/engine/reference.hpp"
#include "sim/jitter.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"

namespace {

using namespace paceline::sim;
using paceline::base::Seconds;

constexpr int kRanks = 16;

/// About `tasks` tasks, added in execution order.
TaskGraph pipeline(std::int64_t tasks) {
  const int microbatches = std::max(1, static_cast<int>(tasks / (4 * kRanks)));
  const StageTime time{Seconds(0.010), Seconds(0.011), Seconds(0.009), {}};
  return timed(one_f_one_b({kRanks, 1, microbatches}), uniform_times(kRanks, time, Seconds(1e-4)));
}

/// The same tasks rank by rank: half of the dependencies name tasks added later.
TaskGraph by_rank(const TaskGraph& graph) {
  std::vector<TaskId> renamed(graph.tasks.size()), order;
  for (std::uint32_t lane = 0; lane < graph.lanes.size(); ++lane) {
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      if (graph.tasks[t].lane != lane) continue;
      renamed[t] = static_cast<TaskId>(order.size());
      order.push_back(t);
    }
  }
  TaskGraph result;
  result.lanes = graph.lanes;
  result.segments = graph.segments;
  result.reserve(graph.tasks.size(), graph.deps.size());
  std::vector<TaskId> deps;
  for (const TaskId t : order) {
    deps.clear();
    for (const TaskId d : graph.dependencies(t)) deps.push_back(renamed[d]);
    result.add(graph.tasks[t], deps);
  }
  return result;
}

void report(benchmark::State& state, const TaskGraph& graph) {
  const double tasks = static_cast<double>(graph.tasks.size());
  const double bytes =
      tasks * sizeof(Task) + static_cast<double>(graph.first_dep.size()) * sizeof(std::uint32_t) +
      static_cast<double>(graph.deps.size()) * sizeof(TaskId) + tasks * 2 * sizeof(double);
  state.counters["tasks"] = tasks;
  state.counters["bytes_per_task"] = bytes / tasks;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.tasks.size()));
}

void run_again(benchmark::State& state, const TaskGraph& graph, const EngineOptions& options = {}) {
  Workspace workspace;
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_reference(graph, workspace, options).makespan);
  }
  report(state, graph);
}

void engine_in_order(benchmark::State& state) { run_again(state, pipeline(state.range(0))); }

/// Without a workspace: the memory of the answer is allocated every time.
void engine_one_shot(benchmark::State& state) {
  const TaskGraph graph = pipeline(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(run_reference(graph).makespan);
  report(state, graph);
}

void engine_out_of_order(benchmark::State& state) {
  run_again(state, by_rank(pipeline(state.range(0))));
}

/// Compute that slows down beside messages: the event queue.
void engine_overlap(benchmark::State& state) {
  TaskGraph graph = pipeline(state.range(0));
  for (Task& task : graph.tasks) {
    if (task.stream == Stream::Compute) task.slowdown = 1.1F;
  }
  run_again(state, graph);
}

void engine_ready(benchmark::State& state) {
  run_again(state, pipeline(state.range(0)), {paceline::models::Dispatch::Ready});
}

/// With bounded receive buffers.
void engine_ready_buffers(benchmark::State& state) {
  run_again(state, pipeline(state.range(0)), {paceline::models::Dispatch::Ready, 2, 0});
}

/// One repetition of `jitter`: new times for all tasks, then the step.
void jitter_repetition(benchmark::State& state) {
  const UnfoldedGraph unfolded = unfold_replicas(pipeline(state.range(0)), 1);
  paceline::models::Jitter jitter;
  jitter.compute.sigma = jitter.links.sigma = 0.1;
  const std::vector<double> no_stragglers(unfolded.graph.lanes.size(), 1.0);
  const JitterDraws draws(unfolded, jitter, no_stragglers);
  TaskGraph graph = unfolded.graph;
  Workspace workspace;
  int repetition = 0;
  for (auto _ : state) {
    draws.apply(repetition++, graph);
    benchmark::DoNotOptimize(run_reference(graph, workspace).makespan);
  }
  report(state, graph);
}

BENCHMARK(engine_in_order)
    ->RangeMultiplier(10)
    ->Range(1000, 10'000'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(engine_one_shot)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(engine_out_of_order)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(engine_overlap)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(engine_ready)->RangeMultiplier(10)->Range(1000, 1'000'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(engine_ready_buffers)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(jitter_repetition)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace

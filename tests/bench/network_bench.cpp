// SPDX-License-Identifier: Apache-2.0
// Shared links and messages one by one.
//
// `simgrid_*` is run_simgrid as users get it: checks, fork, platform, simulation, result copied
// back, end of the process. Activities are tasks: in the pipeline half are kernels in our own event
// queue and half messages, each a timer for its latency and a SimGrid flow. `event_queue_pipeline`
// is the same graph in the event queue alone, links not shared: what the rest costs.
//
// `ring_all_reduce` builds and runs a 1 MB ring all-reduce on the reference
// engine; `bytes_per_task` counts graph and Timeline, `peak_MB` is the process's so far, so run one
// size at a time for it:
//   paceline_bench --benchmark_filter='ring_all_reduce/1024/' --benchmark_min_time=0
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/engine/reference.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/lower/collective_graph.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"

namespace {

using namespace paceline::sim;

/// Of this program alone; getrusage would count what started it.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024 / 1e6;
  }
  return 0;
}

/// 1 MB over hops of 50 GB/s and 1 us.
ChunkedCollective ring(std::int64_t ranks) {
  ChunkedCollective c;
  c.ranks = static_cast<int>(ranks);
  c.bytes = 1e6;
  c.latency = 1e-6;
  c.rate = 50e9;
  return c;
}

void ring_all_reduce(benchmark::State& state) {
  double tasks = 0, bytes = 0;
  for (auto _ : state) {
    const TaskGraph graph = collective_graph(ring(state.range(0)));
    const Timeline timeline = run_reference(graph);
    benchmark::DoNotOptimize(timeline.makespan);
    tasks = static_cast<double>(graph.tasks.size());
    bytes = static_cast<double>(
        graph.tasks.capacity() * sizeof(Task) + graph.first_dep.capacity() * sizeof(std::uint32_t) +
        graph.deps.capacity() * sizeof(TaskId) +
        (timeline.start.capacity() + timeline.finish.capacity()) * sizeof(double));
  }
  state.counters["tasks"] = tasks;
  state.counters["bytes_per_task"] = bytes / tasks;
  state.counters["peak_MB"] = peak_megabytes();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
}
BENCHMARK(ring_all_reduce)
    ->RangeMultiplier(2)
    ->Range(8, 4096)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

constexpr int kStages = 16;

/// 1F1B over 16 stages, about `tasks` tasks. Every message goes over a link of its own.
TaskGraph pipeline(std::int64_t tasks) {
  using paceline::base::Seconds;
  const int microbatches = std::max(1, static_cast<int>(tasks / (4 * kStages)));
  const StageTime time{Seconds(0.010), Seconds(0.011), Seconds(0.009), {}};
  TaskGraph graph =
      timed(one_f_one_b({kStages, 1, microbatches}), uniform_times(kStages, time, Seconds(1e-3)));
  Network& network = graph.network;
  for (std::uint32_t hop = 0; hop < 2 * kStages; ++hop) {
    network.links.push_back({"hop " + std::to_string(hop), 10e9, {}});
    network.transfers.push_back({1e-5, 9.9e6, 10e9, {{hop, 1}}});
  }
  network.transfer_of.assign(graph.tasks.size(), kNoTransfer);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::Message) continue;
    network.transfer_of[t] = task.lane * 2 + (task.stream == Stream::PpDown ? 0 : 1);
  }
  return graph;
}

/// `flows` chains of transfers between random hosts of a star of as many: nearly all flows depend
/// on each other.
TaskGraph random_pairs(std::uint32_t flows, std::uint32_t rounds) {
  const std::uint32_t hosts = flows;
  paceline::base::Rng rng(flows);
  TaskGraph graph;
  graph.lanes.resize(flows);
  for (std::uint32_t l = 0; l < 2 * hosts; ++l) {
    graph.network.links.push_back({"l" + std::to_string(l), 10e9, {}});
  }
  for (std::uint32_t i = 0; i < flows * rounds; ++i) {
    const auto from = static_cast<std::uint32_t>(rng.below(hosts));
    const auto to = (from + 1 + static_cast<std::uint32_t>(rng.below(hosts - 1))) % hosts;
    Transfer transfer{1e-6,
                      1e6 * (1 + 0.1 * static_cast<double>(rng.below(1000)) / 1000),
                      10e9,
                      {{from, 1}, {hosts + to, 1}}};
    Task task;
    task.lane = i % flows;
    task.stream = Stream::Dp;
    task.kind = TaskKind::Message;
    task.seconds = transfer.latency + transfer.bytes / transfer.rate;
    graph.add(task);
    graph.network.transfer_of.push_back(i);
    graph.network.transfers.push_back(std::move(transfer));
  }
  return graph;
}

/// User and system seconds of processes that have ended.
double child_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// `child_cpu_ms` is the processor time of the forked process, which a busy machine stretches.
void run_shared(benchmark::State& state, const TaskGraph& graph) {
  if (!simgrid_available()) {
    state.SkipWithError("no SimGrid");
    return;
  }
  const double before = child_seconds();
  for (auto _ : state) benchmark::DoNotOptimize(run_simgrid(graph).makespan);
  state.counters["child_cpu_ms"] =
      (child_seconds() - before) * 1e3 / static_cast<double>(state.iterations());
  state.counters["tasks"] = static_cast<double>(graph.tasks.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.tasks.size()));
}

void simgrid_pipeline(benchmark::State& state) { run_shared(state, pipeline(state.range(0))); }
BENCHMARK(simgrid_pipeline)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void event_queue_pipeline(benchmark::State& state) {
  const TaskGraph graph = pipeline(state.range(0));
  Workspace workspace;
  workspace.timeline.start.resize(graph.tasks.size());
  for (auto _ : state) {
    evaluate_events(graph, workspace, {});
    benchmark::DoNotOptimize(workspace.timeline.makespan);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.tasks.size()));
}
BENCHMARK(event_queue_pipeline)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMillisecond);

void simgrid_random_pairs(benchmark::State& state) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  run_shared(state, random_pairs(flows, 16384 / flows));
}
BENCHMARK(simgrid_random_pairs)
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Fork, engine, a platform with two links and a message each for so many hosts, one flow that
/// runs, and the end of the process.
void simgrid_start(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  TaskGraph graph;
  graph.lanes.resize(1);
  for (std::uint32_t h = 0; h < hosts; ++h) {
    graph.network.links.push_back({"up " + std::to_string(h), 10e9, {}});
    graph.network.links.push_back({"down " + std::to_string(h), 10e9, {}});
  }
  for (std::uint32_t h = 0; h < hosts; ++h) {
    graph.network.transfers.push_back(
        {1e-6, 1e6, 10e9, {{2 * h, 1}, {2 * ((h + 1) % hosts) + 1, 1}}});
  }
  Task task;
  task.stream = Stream::Dp;
  task.seconds = 1e-6 + 1e-4;
  graph.add(task);
  graph.network.transfer_of = {0};
  run_shared(state, graph);
}
BENCHMARK(simgrid_start)->Arg(16)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Messages one by one. `ring_all_reduce` builds and runs a 1 MB ring all-reduce on the reference
// engine; `bytes_per_task` counts graph and Timeline, `peak_MB` is the process's so far, so run one
// size at a time for it:
//   paceline_bench --benchmark_filter='ring_all_reduce/1024/' --benchmark_min_time=0
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "sim/engine/reference.hpp"
#include "sim/lower/collective_graph.hpp"

namespace {

using namespace paceline::sim;

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
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

}  // namespace

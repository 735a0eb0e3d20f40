// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "sim/outer/failures.hpp"

/// Long runs with failures, steps predicted beforehand.
namespace {

using namespace paceline::sim;

/// Half a year of 16384 devices in 2048 nodes that fail as those of Llama 3 did (419 in 54 days,
/// arXiv 2407.21783), a checkpoint of 6 s at Daly's interval. `goes_on`: nodes are away for a day,
/// 1 % of the pace each.
RunSetting half_a_year(bool goes_on) {
  const double mtbf = 54 * 86400.0 / 419;
  FailureProcess node{"node", mtbf, 1, 60, 600};
  RunSetting s{
      .work = 180 * 86400.0, .checkpoints = {daly_interval(6, mtbf), 6, 60}, .failures = {node}};
  s.fleet.nodes = 2048;
  if (!goes_on) return s;
  s.failures.front().takes = Takes::Node;
  s.failures.front().lasts = 86400;
  s.fleet.step = 10;
  s.fleet.goes_on = [](const std::vector<int>& lost) {
    return Degraded{1 - 0.01 * static_cast<double>(lost.size()), 5};
  };
  return s;
}

void BM_sample_half_a_year(benchmark::State& state) {
  const RunSetting setting = half_a_year(state.range(0) != 0);
  std::uint64_t seed = 1;
  int failures = 0;
  for (auto _ : state) failures += sample_run(setting, seed++).failures;
  state.counters["failures"] = benchmark::Counter(failures, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_sample_half_a_year)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace

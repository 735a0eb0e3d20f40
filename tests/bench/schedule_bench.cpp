// SPDX-License-Identifier: Apache-2.0
// How long large Programs take to make: a million actions of 1f1b with their verification, and the
// list schedulers, which search.
#include <benchmark/benchmark.h>

#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

namespace {

using namespace paceline::sim;
using paceline::base::Bytes;
using paceline::base::Seconds;

std::int64_t action_count(const Program& program) {
  std::int64_t count = 0;
  for (const auto& order : program.order) count += static_cast<std::int64_t>(order.size());
  return count;
}

void make_and_verify(benchmark::State& state, const char* name, const PipelineShape& shape) {
  const Schedule& schedule = find_schedule(name, "");
  std::int64_t actions = 0;
  for (auto _ : state) {
    const Program program = schedule.build(shape);
    verify(program);
    actions = action_count(program);
  }
  state.SetItemsProcessed(state.iterations() * actions);
  state.counters["actions"] = static_cast<double>(actions);
}

/// Stage times of a 28 B transformer on 32 ranks, as published with ZB-2p.
PipelineShape searched(int chunks) {
  const int stages = 32 * chunks;
  return {32,
          chunks,
          256,
          {},
          uniform_times(stages,
                        {Seconds(10.402e-3 / chunks), Seconds(10.248e-3 / chunks),
                         Seconds(7.698e-3 / chunks), Bytes(454656), Bytes(258048)},
                        Seconds(0.46e-3))};
}

BENCHMARK_CAPTURE(make_and_verify, 1f1b_million, "1f1b", PipelineShape{32, 1, 15625})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, zb_h2_million, "zb-h2", PipelineShape{32, 1, 10417})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, zb_1p_searched, "zb-1p", searched(1))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, zb_2p_searched, "zb-2p", searched(1))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, zb_v_searched, "zb-v", searched(2))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, v_half_million, "v-half", PipelineShape{32, 2, 5208})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_and_verify, 1f1b_v_million, "1f1b-v", PipelineShape{32, 2, 7812})
    ->Unit(benchmark::kMillisecond);

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// What comes before the engine: Programs of every schedule, their verification and the uniform
// lowering, against the number of ranks (64 microbatches, two chunks where the schedule takes
// them).
#include <benchmark/benchmark.h>

#include "base/error.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

namespace {

using namespace paceline::sim;
using paceline::base::Seconds;

constexpr int kMicrobatches = 64;

std::int64_t action_count(const Program& program) {
  std::int64_t count = 0;
  for (const auto& order : program.order) count += static_cast<std::int64_t>(order.size());
  return count;
}

void program_of(benchmark::State& state, const Schedule& schedule, int chunks) {
  const PipelineShape shape{static_cast<int>(state.range(0)), chunks, kMicrobatches};
  std::int64_t actions = 0;
  for (auto _ : state) {
    const Program program = schedule.build(shape);
    actions = action_count(program);
    benchmark::DoNotOptimize(program.order.data());
  }
  state.SetItemsProcessed(state.iterations() * actions);
}

void lower_uniform(benchmark::State& state) {
  const Program program = interleaved_1f1b({static_cast<int>(state.range(0)), 2, kMicrobatches});
  const StageTimes times =
      uniform_times(program.stages, {Seconds(1), Seconds(1), Seconds(1), {}}, Seconds(0.1));
  for (auto _ : state) benchmark::DoNotOptimize(timed(program, times).tasks.data());
  state.SetItemsProcessed(state.iterations() * action_count(program));
}
BENCHMARK(lower_uniform)->RangeMultiplier(4)->Range(4, 64)->Unit(benchmark::kMicrosecond);

void verify_program(benchmark::State& state) {
  const Program program = interleaved_1f1b({static_cast<int>(state.range(0)), 2, kMicrobatches});
  for (auto _ : state) verify(program);
  state.SetItemsProcessed(state.iterations() * action_count(program));
}
BENCHMARK(verify_program)->RangeMultiplier(4)->Range(4, 64)->Unit(benchmark::kMicrosecond);

/// A Program of a million actions made and verified: half a second at most.
void generate_and_verify_million(benchmark::State& state) {
  std::int64_t actions = 0;
  for (auto _ : state) {
    const Program program = interleaved_1f1b({16, 2, 15'632});
    verify(program);
    actions = action_count(program);
  }
  state.SetItemsProcessed(state.iterations() * actions);
}
BENCHMARK(generate_and_verify_million)->Unit(benchmark::kMillisecond);

bool accepts(const Schedule& schedule, const PipelineShape& shape) {
  try {
    schedule.build(shape);
    return true;
  } catch (const paceline::base::Error&) {
    return false;
  }
}

/// One benchmark per schedule of the registry.
const bool registered = [] {
  for (const Schedule& schedule : schedules()) {
    const int chunks = accepts(schedule, {4, 2, kMicrobatches}) ? 2 : 1;
    benchmark::RegisterBenchmark(
        ("program/" + std::string(schedule.name)).c_str(),
        [&schedule, chunks](benchmark::State& state) { program_of(state, schedule, chunks); })
        ->RangeMultiplier(4)
        ->Range(4, 64)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace

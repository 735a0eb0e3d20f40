// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "sim/lower/lower.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"

/// Whole evaluations, scenario parsed once.
namespace {

using namespace paceline;

models::Scenario scenario(const char* name) {
  return models::read_scenario_file(std::string(PACELINE_SOURCE) + "/scenarios/" + name);
}

void BM_predict(benchmark::State& state, const char* name) {
  const models::Scenario s = scenario(name);
  std::size_t tasks = 0;
  for (auto _ : state) {
    const sim::Prediction p = sim::predict(s);
    tasks = p.graph.tasks.size();
    benchmark::DoNotOptimize(p.result.step_time);
  }
  state.counters["tasks"] = static_cast<double>(tasks);
}
BENCHMARK_CAPTURE(BM_predict, gpt3_175b_tp8_pp8_v3_m64, "gpt3_175b_64_a100.yaml")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_predict, gpt_1t_3072, "gpt_1t_3072_a100.yaml")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_predict, llama3_8b_fsdp, "llama3_8b_8_h100.yaml")
    ->Unit(benchmark::kMicrosecond);

void BM_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(scenario("gpt3_175b_64_a100.yaml").hash.size());
}
BENCHMARK(BM_read)->Unit(benchmark::kMicrosecond);

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "base/table.hpp"
#include "sim/lower/lower.hpp"
#include "sim/measure.hpp"
#include "sim/outer/outer.hpp"
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
BENCHMARK_CAPTURE(BM_predict, gpt3_175b_tp8_pp8_v3_m64, "07_gpt3_175b_64_a100.yaml")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_predict, gpt_1t_3072, "12_gpt_1t_3072_a100.yaml")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_predict, llama3_8b_fsdp, "02_llama3_8b_8_h100.yaml")
    ->Unit(benchmark::kMicrosecond);

void BM_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(scenario("07_gpt3_175b_64_a100.yaml").hash.size());
}
BENCHMARK(BM_read)->Unit(benchmark::kMicrosecond);

/// A month of DiLoCo: 64 workers, 8 to each of 8 sites joined pair by pair, 500 inner steps of 5 s,
/// so 1037 rounds. A twentieth of the exchanges is lost, so that no two rounds are alike.
void BM_outer_month(benchmark::State& state) {
  sim::Wan wan;
  wan.worker_rate = 50e9;
  constexpr int kSites = 8;
  wan.ways.resize(kSites * kSites);
  for (int a = 0; a < kSites; ++a) {
    wan.sites.push_back("s" + std::to_string(a));
    for (int w = 0; w < 8; ++w) wan.worker_site.push_back(a);
    for (int b = 0; b < kSites; ++b) {
      if (a == b) continue;
      sim::WanWay& way = wan.ways[static_cast<std::size_t>(a * kSites + b)];
      way.wires = {static_cast<int>(wan.wires.size())};
      way.latency = 0.05;
      wan.wires.push_back({std::to_string(a) + ">" + std::to_string(b), 125e6, a, b});
    }
  }
  models::OuterChoice outer;
  outer.method = &base::find(models::outer_methods(), "diloco");
  outer.workers = 64;
  outer.inner_steps = 500;
  outer.lost = 0.05;
  outer.rounds = 1037;
  const sim::InnerStep step{5, 3, 42, 10e9};
  for (auto _ : state)
    benchmark::DoNotOptimize(sim::simulate_outer(outer, step, &wan).round_seconds);
}
BENCHMARK(BM_outer_month)->Unit(benchmark::kMillisecond);

}  // namespace

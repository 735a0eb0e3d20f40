// SPDX-License-Identifier: Apache-2.0
// Packed documents: 10,000 steps of 32 windows each, sampled and simulated (on all processors).
#include <benchmark/benchmark.h>

#include <string>

#include "base/config.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

namespace {

using namespace paceline;

void packed_steps(benchmark::State& state, const std::string& context) {
  const models::Scenario s = models::read_scenario(base::parse_yaml(
      "model: {preset: llama-3-8b}\ncluster: {preset: dgx-h100, nodes: 2}\nparallel: {tp: 2, cp: "
      "2, dp: 4, context: " +
          context +
          "}\nbatch: {global: 32, sequence: 131072, documents: {kind: lognormal, median: 2000, "
          "sigma: 1.6, packing: split, steps: 10000}}\nattention: flash-2\n",
      "bench.yaml"));
  for (auto _ : state) benchmark::DoNotOptimize(sim::predict(s).result.step_time);
  state.SetItemsProcessed(state.iterations() * 10000);
}

BENCHMARK_CAPTURE(packed_steps, ring, std::string("ring"))->Unit(benchmark::kSecond)->UseRealTime();
BENCHMARK_CAPTURE(packed_steps, attention_servers, std::string("attention-servers"))
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace

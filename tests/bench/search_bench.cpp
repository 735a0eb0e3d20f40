// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "models/scenario/scenario.hpp"
#include "sim/search/search.hpp"

/// Layouts per second of `paceline plan` on one core, simulations included.
namespace {

using namespace paceline;

void BM_plan(benchmark::State& state, const char* scenario, std::vector<std::string> set,
             bool full) {
  const models::Scenario s =
      models::read_scenario_file(std::string(PACELINE_SOURCE) + "/scenarios/" + scenario, set);
  const sim::SearchSpace space = sim::search_space(s, full);
  sim::SearchOptions options;
  options.threads = 1;
  double points = 0, valid = 0, evaluated = 0;
  for (auto _ : state) {
    const sim::SearchAnswer answer = sim::search(s, space, options);
    points += answer.counts.points;
    valid += answer.counts.points - answer.counts.invalid;
    evaluated = answer.counts.evaluated;
  }
  state.counters["layouts"] = benchmark::Counter(points, benchmark::Counter::kIsRate);
  state.counters["that_divide"] = benchmark::Counter(valid, benchmark::Counter::kIsRate);
  state.counters["simulated"] = evaluated;
}

// GPT 22B on one node of A100 (Korthikanti et al. 2022, table 3).
BENCHMARK_CAPTURE(BM_plan, 22B_8_a100, "07_gpt3_175b_64_a100.yaml",
                  {"model={hidden: 6144, layers: 48, heads: 64, vocab: 51200, positions: 2048, "
                   "activation: gelu, norm: layernorm, bias: true, tied: true}",
                   "cluster.nodes=1", "batch.global=4", "parallel={tp: 8}", "schedule=1f1b"},
                  true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_plan, 175B_64_a100, "07_gpt3_175b_64_a100.yaml", {}, true)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "models/jobs/drawn.hpp"
#include "sim/jobs/run_jobs.hpp"

using namespace paceline;

namespace {

models::JobsStudy six_regions() {
  return without_variants(
      models::read_jobs(PACELINE_SOURCE "/scenarios/systems/bace-pipe/jobs.yaml"));
}

/// Instances of eight jobs on six regions, each under one policy, on one thread. Steps that were
/// simulated before are remembered, as in a study.
void outer_instances(benchmark::State& state, const char* policy) {
  const models::JobsStudy study = six_regions();
  const models::JobsFile& file = study.base();
  sim::jobs::JobSteps steps(file, 768);
  const sim::jobs::JobPolicy made = sim::jobs::job_policy(policy);
  int index = 0;
  for (auto _ : state) {
    const models::JobsInstance instance = models::draw(file, index++);
    benchmark::DoNotOptimize(sim::jobs::simulate_jobs(file, instance, steps, made));
  }
  state.SetItemsProcessed(state.iterations());
}

/// One step of 256 microbatches on so many stages of two regions.
void inner_step(benchmark::State& state) {
  const models::JobsStudy study = six_regions();
  const int stages = static_cast<int>(state.range(0));
  double hop = 1e-3;
  sim::jobs::JobSteps steps(study.base(), 16);
  for (auto _ : state) {
    hop += 1e-9;  // or it would be remembered
    benchmark::DoNotOptimize(steps.step(0, {stages / 2, stages / 2}, {{hop, 0}}));
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

BENCHMARK_CAPTURE(outer_instances, lcf, "lcf")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(outer_instances, cr_ldf, "cr-ldf")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(outer_instances, bace_pipe, "bace-pipe")->Unit(benchmark::kMillisecond);
BENCHMARK(inner_step)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

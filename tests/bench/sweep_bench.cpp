// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "reports/sweep.hpp"

/// Points per second of `paceline sweep`, processes included, on all cores.
namespace {

using namespace paceline;

void BM_sweep(benchmark::State& state, const char* name) {
  std::string tokens = "run.tokens=1000000";
  for (int i = 1; i < 200; ++i) tokens += "," + std::to_string(1'000'000 + i);
  const models::Sweep sweep =
      models::make_sweep(base::read_document(std::string(PACELINE_SOURCE) + "/scenarios/" + name),
                         {models::parse_axis(tokens)}, false);
  const reports::SweepHeader header = reports::make_sweep_header(sweep, {}, "paceline sweep");
  std::vector<std::size_t> points(sweep.points);
  std::iota(points.begin(), points.end(), std::size_t{0});
  const auto predict = [&](std::size_t point) { return reports::predict_point(sweep, point, {}); };
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  for (auto _ : state) {
    reports::run_points(sweep, header, points, cores, predict, [](const reports::SweepRow& row) {
      benchmark::DoNotOptimize(row.step_time);
    });
  }
  state.counters["points/s"] = benchmark::Counter(
      static_cast<double>(sweep.points * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_sweep, gpt2_124m, "01_gpt2_124m_1_gpu.yaml")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_sweep, 06_llama3_70b_64_h100, "06_llama3_70b_64_h100.yaml")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <exception>

#include "base/error.hpp"
#include "kernels/measure.hpp"

namespace paceline::kernels {
namespace {

/// Keeps the time of every repetition and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
    }
  }
  std::vector<double> seconds;
};

}  // namespace

std::vector<double> time_batches(const std::function<void()>& call,
                                 const std::function<void()>& drain, std::int64_t calls,
                                 int repetitions) {
  benchmark::ClearRegisteredBenchmarks();
  std::exception_ptr thrown;  // nothing may pass through the library
  const auto batch = [&](benchmark::State& state) {
    for (auto _ : state) {
      try {
        for (std::int64_t i = 0; thrown == nullptr && i < calls; ++i) call();
        drain();
      } catch (...) {
        if (thrown == nullptr) thrown = std::current_exception();
      }
    }
  };
  benchmark::RegisterBenchmark("batch", batch)
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->UseRealTime();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "batch");
  benchmark::ClearRegisteredBenchmarks();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  PACELINE_CHECK(collector.seconds.size() == static_cast<std::size_t>(repetitions));
  for (double& s : collector.seconds) s /= static_cast<double>(calls);
  return collector.seconds;
}

std::string_view timer_name() { return "Google Benchmark"; }

}  // namespace paceline::kernels

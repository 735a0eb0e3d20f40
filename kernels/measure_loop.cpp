// SPDX-License-Identifier: Apache-2.0
// Stands for measure_benchmark.cpp in builds without Google Benchmark.
#include <chrono>

#include "kernels/measure.hpp"

namespace paceline::kernels {

std::vector<double> time_batches(const std::function<void()>& call,
                                 const std::function<void()>& drain, std::int64_t calls,
                                 int repetitions) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int r = 0; r < repetitions; ++r) {
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    drain();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() /
                      static_cast<double>(calls));
  }
  return seconds;
}

std::string_view timer_name() { return "own loop"; }

}  // namespace paceline::kernels

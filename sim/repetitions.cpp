// SPDX-License-Identifier: Apache-2.0
#include "sim/repetitions.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace paceline::sim {
namespace {
constexpr std::size_t kMaxCopies = 20'000'000;  ///< tasks of all copies, some 100 bytes each
}

std::vector<double> repeated_times(const TaskGraph& original, int count,
                                   const ApplyRepetition& apply, const EngineOptions& options,
                                   const StepTime& step_time, int threads,
                                   const RepetitionsBegun& begun) {
  std::vector<double> times(static_cast<std::size_t>(count), 0);
  std::atomic<int> next{0};
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&](bool reports) {
    try {
      TaskGraph graph = original;
      Workspace workspace;
      for (int r = next++; r < count; r = next++) {
        if (reports && begun) begun(static_cast<std::size_t>(r) + 1);
        apply(r, graph);
        const Timeline& timeline = run_reference(graph, workspace, options);
        times[static_cast<std::size_t>(r)] =
            step_time ? step_time(graph, timeline) : timeline.makespan;
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t copies = kMaxCopies / (original.tasks.size() + 1);
  threads = static_cast<int>(std::clamp<std::size_t>(copies, 1, static_cast<std::size_t>(threads)));
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work, false);
  work(true);
  helpers.clear();  // waits
  if (failure) std::rethrow_exception(failure);
  return times;
}

}  // namespace paceline::sim

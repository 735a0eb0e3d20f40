// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/hardware.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "kernels/hardware_engine/rank.hpp"

namespace paceline::hardware {
namespace {

using kernels::Backend;
using kernels::Communicator;

/// What a rank tells of a step: start and finish of its tasks, then when its messages came.
void append_times(const Rank& rank, std::vector<double>& times) {
  for (const RankTask& task : rank.part().tasks) {
    times.push_back(rank.start(task.task));
    times.push_back(rank.finish(task.task));
  }
  for (const sim::Exchange* message : rank.part().receives)
    times.push_back(rank.finish(message->task));
}

std::size_t times_of(const RankPart& part) { return 2 * part.tasks.size() + part.receives.size(); }

/// Times of one rank and step into the timeline of all.
void read_times(const RankPart& part, const double* times, sim::Timeline& timeline) {
  for (const RankTask& task : part.tasks) {
    timeline.start[task.task] = *times++;
    const double finish = *times++;
    if (task.deed != Deed::Send) timeline.finish[task.task] = finish;
  }
  for (const sim::Exchange* message : part.receives) timeline.finish[message->task] = *times++;
}

/// All ranks' times of all steps, one after another.
std::vector<double> gather_times(const Communicator& world, const std::vector<RankPart>& parts,
                                 int steps, std::vector<double>& own) {
  std::vector<std::int64_t> counts;
  std::int64_t all = 0;
  for (const RankPart& part : parts) {
    counts.push_back(static_cast<std::int64_t>(times_of(part) * sizeof(double)) * steps);
    all += counts.back();
  }
  std::vector<double> result(static_cast<std::size_t>(all) / sizeof(double));
  const kernels::Tensor send{own.data(), kernels::DType::U8,
                             counts[static_cast<std::size_t>(world.rank())]};
  const kernels::Tensor recv{result.data(), kernels::DType::U8, all};
  kernels::all_gather_v(world.host(), send, recv, counts);
  return result;
}

sim::Timeline timeline_of(const sim::TaskGraph& graph, const std::vector<RankPart>& parts,
                          const std::vector<double>& times, int steps, int step) {
  sim::Timeline timeline;
  timeline.start.assign(graph.tasks.size(), 0);
  timeline.finish.assign(graph.tasks.size(), 0);
  std::size_t at = 0;
  for (const RankPart& part : parts) {
    read_times(part, times.data() + at + times_of(part) * static_cast<std::size_t>(step), timeline);
    at += times_of(part) * static_cast<std::size_t>(steps);
  }
  for (const double finish : timeline.finish)
    timeline.makespan = std::max(timeline.makespan, finish);
  return timeline;
}

/// The step in the middle by its makespan.
Run summarise(const sim::TaskGraph& graph, const std::vector<RankPart>& parts,
              const std::vector<double>& times, int steps) {
  Run run;
  std::vector<sim::Timeline> timelines;
  for (int step = 0; step < steps; ++step) {
    timelines.push_back(timeline_of(graph, parts, times, steps, step));
    run.step_seconds.push_back(timelines.back().makespan);
  }
  std::vector<std::size_t> order(timelines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return timelines[a].makespan < timelines[b].makespan;
  });
  run.timeline = std::move(timelines[order[order.size() / 2]]);
  return run;
}

}  // namespace

Run run(const sim::TaskGraph& graph, const sim::EngineOptions& engine, const Backend& backend,
        const Communicator& world, const Options& options) {
  PACELINE_CHECK(options.steps > 0 && options.warmups >= 0);
  Rank rank(graph, engine, backend, world, options);
  std::vector<double> own;
  for (int i = 0; i < options.warmups + options.steps; ++i) {
    rank.step();
    if (i >= options.warmups) append_times(rank, own);
  }
  rank.check_finite();
  std::vector<RankPart> parts;
  for (int r = 0; r < world.size(); ++r) parts.push_back(part_of(graph, r, world.size()));
  const std::vector<double> times = gather_times(world, parts, options.steps, own);
  Run result = summarise(graph, parts, times, options.steps);
  result.substitutes = rank.substitutes();
  return result;
}

}  // namespace paceline::hardware

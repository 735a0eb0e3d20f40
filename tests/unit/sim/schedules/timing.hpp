// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

/// What the tests of schedules measure of a Program.
namespace paceline::sim {

struct Span {
  double makespan = 0;  ///< of all ranks
  double longest = 0;   ///< of the rank with the longest time from its first start to its last end
};

/// As the reference engine runs it with hops that block no one.
inline Span span_of(const Program& program, const StageTimes& times) {
  const TaskGraph graph = timed(program, times);
  const Timeline timeline = run_reference(graph);
  std::vector<double> first(graph.lanes.size(), timeline.makespan), last(first.size(), 0);
  Span span;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].stream != Stream::Compute) continue;
    const auto lane = graph.tasks[t].lane;
    first[lane] = std::min(first[lane], timeline.start[t]);
    last[lane] = std::max(last[lane], timeline.finish[t]);
    span.makespan = std::max(span.makespan, last[lane]);
    span.longest = std::max(span.longest, last[lane] - first[lane]);
  }
  return span;
}

/// Whole-rank microbatches held at most, by any rank.
inline double peak_units(const Program& program) {
  const std::vector<int> peaks = peak_in_flight(program);
  const double stages_per_rank =
      static_cast<double>(program.stages) / static_cast<double>(program.order.size());
  return *std::max_element(peaks.begin(), peaks.end()) / stages_per_rank;
}

/// F, B and W take 1 on a rank, hops nothing.
inline StageTimes unit_times(const PipelineShape& shape) {
  const base::Seconds chunk(1.0 / shape.chunks);
  return uniform_times(shape.stages(), {chunk, chunk, chunk, base::Bytes(1)});
}

}  // namespace paceline::sim

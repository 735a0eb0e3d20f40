// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"
#include "tests/unit/base/message_of.hpp"

/// What tests of single schedules ask: times in units of a whole rank's forward.
namespace paceline::sim::test {

/// Equal stages; a rank's F, B and W of one microbatch take `forward`, `input` and `weight`.
inline StageTimes rank_times(const PipelineShape& shape, double forward, double input,
                             double weight) {
  const double v = shape.chunks;
  return uniform_times(shape.stages(), {base::Seconds(forward / v), base::Seconds(input / v),
                                        base::Seconds(weight / v), base::Bytes(1)});
}

inline double makespan(const Program& program, const StageTimes& times) {
  return run_reference(timed(program, times)).makespan;
}

/// Built for the times, verified, and run.
inline double makespan(const char* name, PipelineShape shape, double forward, double input,
                       double weight) {
  shape.times = rank_times(shape, forward, input, weight);
  const Program program = find_schedule(name, "").build(shape);
  verify(program);
  return makespan(program, shape.times);
}

/// Smallest and largest over the ranks, in microbatches of a whole rank.
inline std::pair<double, double> peaks(const Program& program, int chunks) {
  const std::vector<int> peak = peak_in_flight(program);
  const auto [low, high] = std::minmax_element(peak.begin(), peak.end());
  return {double(*low) / chunks, double(*high) / chunks};
}

inline std::string line_of(const Program& program, std::size_t rank) {
  std::string text;
  for (std::size_t i = 0; i < program.order.at(rank).size(); ++i) {
    const Action& action = program.order[rank][i];
    text += (i == 0 ? "" : program.order[rank][i - 1].fused ? "&" : " ") + to_text(action, program);
  }
  return text;
}

inline std::string error_of(const char* name, const PipelineShape& shape) {
  return ::tests::message_of([&] { find_schedule(name, "").build(shape); });
}

}  // namespace paceline::sim::test

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

#include "sim/program.hpp"

/// A list scheduler for Programs whose order comes from a search: it plays the ranks in time, and
/// whenever one is free it starts the best action that is ready there.
namespace paceline::sim {

/// Taken off the priority of what comes before all else.
inline constexpr std::int64_t kAheadOfAll = std::int64_t{1} << 60;

struct GreedyRules {
  /// The rank that runs a stage of a microbatch; negative: the microbatch leaves the stage out.
  std::function<int(int stage, int microbatch)> rank;
  std::function<double(int pass, int stage)> seconds;
  /// The lowest starts first, ties by pass, stage and microbatch. Empty: first come, first served;
  /// work that goes on with the next stage on the same rank does not queue again.
  std::function<std::int64_t(const Action&)> priority;
  double hop = 0;  ///< seconds of a message between ranks
  /// Above 0: a stage stores no new input before that of `window` microbatches earlier is freed, so
  /// it never holds more than `window`.
  int window = 0;
  /// Above 0: microbatches a rank holds at a time, each from its first stage there on until what
  /// that stage stored is freed. Others wait outside.
  int room = 0;
};

/// Replaces the order of `program`, whose sizes, passes and ranks are set; returns when the last
/// action ends. Passes read passes of the same stage only, and one of them stores its input.
double greedy_order(Program& program, const GreedyRules& rules);

}  // namespace paceline::sim

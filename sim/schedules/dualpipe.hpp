// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/common.hpp"

namespace paceline::sim {

/// An action of a rank that runs two stages ("phases" 0 and 1) in turn; what they are is up to the
/// schedule.
struct PhaseAction {
  std::uint8_t pass = 0;
  bool fused = false;
  int phase = 0;
  int index = 0;  ///< how many of its pass and phase came before, B and BW counted together
};

inline constexpr std::uint8_t kDualB = 2, kDualW = 3;  ///< beside kForward and kBackward

/// Throws base::Error unless there are two microbatches per rank.
void check_two_per_rank(const PipelineShape& shape, const char* schedule);

/// Passes F, BW, B and W: most backwards are whole, the first and last ones split.
Program dualpipe_program(const PipelineShape& shape);

/// The eight steps of DualPipe on one rank: `position` counts 0 ... `half` - 1 from the end where
/// phase 0 enters towards where the two phases meet; `count` >= 2 * half forwards of either phase.
std::vector<PhaseAction> dualpipe_steps(int half, int position, int count);

}  // namespace paceline::sim

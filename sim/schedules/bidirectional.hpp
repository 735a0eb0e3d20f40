// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/common.hpp"

/// Two pipelines in opposite directions over the same ranks.
namespace paceline::sim {

/// Which rank runs a stage in which direction: the zig-zag placement, or its mirror image.
inline int bidirectional_rank(int ranks, int stage, int direction) {
  const int rank = zigzag_rank(ranks, stage);
  return direction == 0 ? rank : ranks - 1 - rank;
}

/// Fills the order of a two-pass program: units of one microbatch per rank, even ones in one
/// direction and odd ones in the other. With every pass one slot long, each direction injects one
/// microbatch every other slot and the two never meet on a rank; unit after unit follows without a
/// gap, and a last unit that is not full leaves its slots empty. Needs an even number of ranks.
void fill_bidirectional(Program& program, const PipelineShape& shape);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "sim/schedules/common.hpp"

/// Building blocks of the V family: the passes of one microbatch at fixed slots on every rank,
/// repeated every kBlockPeriod slots. A slot is one pass of one chunk. Qi et al., "Pipeline
/// Parallelism with Controllable Memory" (2024), section 4.
namespace paceline::sim {

inline constexpr int kBlockPeriod = 6;  ///< F, B and W of two chunks

/// Slots of one rank, counted from the first forward of the microbatch.
struct BlockRow {
  int forward[2] = {};       ///< by chunk
  int backward[2] = {};      ///< by chunk; B, or the first slot of BW
  int weight[2] = {-1, -1};  ///< by chunk; -1: not in the block
};

/// The repeated block as the order of one rank.
std::vector<Action> repeat_block(const PipelineShape& shape, int rank, const BlockRow& row);

}  // namespace paceline::sim

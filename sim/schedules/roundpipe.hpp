// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/schedules/schedule.hpp"

/// Stages that are not bound to devices. F runs on all blocks but the last; R, the forward again,
/// on all of them right before their BW. For the last one it is the only forward.
namespace paceline::sim {

/// How RoundPipe groups the stages of a Program ("blocks" below: a layer, or the head) into
/// forward and backward stages.
struct RoundPartition {
  std::vector<int> forward;   ///< blocks of each forward stage, in order
  std::vector<int> backward;  ///< blocks of each backward stage, the last blocks first
  /// The forward of the last block, the first thing its backward stage does, waits for nothing, as
  /// in the evaluator published with RoundPipe. Otherwise it waits for the forwards before it.
  bool head_ahead = false;
};

/// Forward stages of blocks in order, backward stages from the last block back, each as many as
/// take no longer (recomputation included) than the longest block does alone, by the times of
/// `shape`.
RoundPartition balanced_partition(const PipelineShape& shape);

/// On `ranks` ranks, whatever `shape.ranks` (the number of blocks need not be a multiple). Rounds
/// of `shape.options.group` microbatches (0: as many as ranks). `shape.times` decides where a round
/// begins. Throws base::Error when the partition does not cover the stages of the shape.
Program round_pipe_program(int ranks, const PipelineShape& shape, const RoundPartition& partition);

}  // namespace paceline::sim

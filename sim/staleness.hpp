// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/action_index.hpp"
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

/// How old the weights are that a Program with updates (pass U) computes on.
///
/// Weights of a stage have a version: the number of updates applied so far. Ranks that hold a copy
/// of a stage with updates of their own count by themselves; a stage whose passes wander over ranks
/// counts all updates together. A gradient is applied by the first update after it. Then
///
/// - forward reads, under Weights::Latest and Stash, the version that is there when it runs; under
///   Delayed the one before the version its gradient is applied to (never below 0);
/// - backward (passes that run up the stages) reads the version that is there under Latest, and the
///   version of its forward under Stash and Delayed;
/// - the *delay* of a gradient is the number of updates of its stage between the version its
///   forward read and the moment it is applied: 0 when it is applied to the weights it was made of;
/// - the *mismatch* of a backward is its version minus that of its forward.
///
/// While the pipeline fills, delays are smaller. Gradients whose forward ran before the first
/// backward of its stage and those of the first update are counted only where there are no others,
/// and those that the Program ends without applying never.
namespace paceline::sim {

struct Staleness {
  std::vector<std::int64_t> histogram;  ///< [d]: gradients applied with delay d
  int max = 0;                          ///< delay, in updates of the stage
  double mean = 0;
  int mismatch = 0;                 ///< the largest
  std::vector<int> delay_by_stage;  ///< the largest
  std::vector<int> mismatch_by_stage;
  /// By rank: the most versions of one stage's weights it holds at a time, the newest and every
  /// one that a microbatch on its way still needs.
  std::vector<int> versions;
};

/// `order` names every action once, each after what it needs; without it, execution_order(program).
/// Only the order of actions that touch the same copy of a stage matters. Throws base::Error
/// for Weights::Delayed where a forward runs before the version it would read exists.
Staleness staleness(const Program& program, std::span<const Position> order);
Staleness staleness(const Program& program);

/// Whether updates stand in the Program.
bool has_updates(const Program& program);

/// Delay counted in updates of any stage: how many block updates lie between the forward that reads
/// a stage's weights and the update of that stage with its gradient ("Demystifying Pipeline
/// Parallelism", Randomized PipeDream).
struct BlockDelay {
  std::int64_t max = 0;
  double mean = 0;
};

/// Over the third quarter of all updates. The events are put in one line by the start of the pass
/// that makes them (the forward; the backward whose gradient the update applies), those that start
/// together by stage. PipeDream on S stages with passes of one length then has max floor(S^2 - S/2)
/// and mean (S^2 - 1)/2. The rule for ties matters: were no update visible to a forward that starts
/// with it, the mean would be larger by S/4 (S even) or (S^2 - 1)/(4 S) (S odd); were all of them
/// visible, smaller by as much. `graph` is timed(program, ...) and `timeline` its answer.
BlockDelay block_delay(const Program& program, const TaskGraph& graph, const Timeline& timeline);

}  // namespace paceline::sim

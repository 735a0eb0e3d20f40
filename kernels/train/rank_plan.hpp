// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/program.hpp"

namespace paceline::kernels::train {

enum class Pass : std::uint8_t {
  Forward,
  InputGradient,
  WeightGradient,
  Backward,  ///< both gradients
  Recompute,
  Update,
  NormBarrier
};

/// One action of a rank and what it has to do with others.
struct Step {
  Pass pass = Pass::Forward;
  int stage = 0, microbatch = 0;
  /// The version of its weights that it reads: updates of the stage since the Program began. -1:
  /// the one before the last update of the run before (PipeDream-2BW).
  int version = 0;
  /// Pipeline rank that sends what it receives, maybe this one; -1: it receives nothing.
  int from = -1;
  int number = 0;  ///< of the message, among all from `from` in the order they are sent
  int to = -1;     ///< pipeline rank its output goes to, maybe this one; -1: nobody
  /// The update that applies the microbatch's gradient, and how many microbatches it applies.
  int update = 0, together = 1;
  bool last = false;  ///< no later action needs what is kept of the microbatch
};

/// What one rank of the pipeline does in one run of a Program.
struct RankPlan {
  std::vector<Step> steps;
  std::vector<int> stages;      ///< that it holds, ascending
  std::map<int, int> incoming;  ///< messages by sending rank, this one not among them
  std::map<int, int> outgoing;  ///< and by receiving rank
  std::map<std::pair<int, int>, int> readers;  ///< steps that use weights, by (stage, version)
  bool updates = false;     ///< U stands in the Program; otherwise the run ends with an update
  int update_count = 1;     ///< updates of every stage in one run
  bool recomputes = false;  ///< R stands in the Program
};

/// Throws base::Error at `where` when the Program is none the trainer can run: passes it does not
/// know, slices, stages whose passes wander over ranks, updates of stages that several ranks hold,
/// no backward passes; and what sim::verify complains of.
void check_trainable(const sim::Program& program, const std::string& where);

/// Throws base::Error at `where` when updates of the ends wait for each other for ever, where both
/// ends hold one matrix and exchange its gradient in U. `program` has passed check_trainable.
void check_tied_updates(const sim::Program& program, const std::string& where);

/// Pairs of ranks of which the first sends to the second, ascending.
std::vector<std::pair<int, int>> message_pairs(const sim::Program& program);

/// `later_run`: one went before.
RankPlan plan_rank(const sim::Program& program, int rank, bool later_run);

}  // namespace paceline::kernels::train

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/program.hpp"
#include "sim/stage_times.hpp"
#include "sim/task_graph.hpp"

/// Work of others in the idle time of a pipeline: frozen encoders of the next iteration
/// (DiffusionPipe, arXiv 2405.01248), early exits (EE-LLM, arXiv 2312.04916).
namespace paceline::sim {

/// Pieces of foreign work each rank could do, in seconds.
using ForeignWork = std::vector<std::vector<base::Seconds>>;

struct Filled {
  Program program;                     ///< the base with actions of a local, sparse pass X
  PassTimes times;                     ///< of X, for StageTimes::others
  std::vector<std::vector<int>> left;  ///< by rank: pieces that fit nowhere, as indices
};

/// Packs pieces into the idle intervals of `base`, the makespan after a rank's last action
/// included; `timeline` is that of timed(base, ...) `graph`. An interval takes the longest piece
/// that still fits, then the next; with `in_order` pieces keep their order and the first that does
/// not fit waits for a later interval. No action starts later than before, but for rounding.
/// Throws base::Error when the base has a pass X, when `work` has not one entry per rank, holds
/// seconds that are no finite number > 0, or more pieces than the Program can number.
Filled fill_bubbles(const Program& base, const TaskGraph& graph, const Timeline& timeline,
                    const ForeignWork& work, bool in_order = false);

}  // namespace paceline::sim

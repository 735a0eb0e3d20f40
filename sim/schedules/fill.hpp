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

/// When the actions of a rank run, in the order of the Program, and until when the rank may do
/// other work after the last of them. Seconds.
struct RankSpans {
  struct Span {
    double start = 0, finish = 0;
  };
  std::vector<Span> actions;
  double end = 0;
};

/// By rank, of a graph with one lane per rank (timed(), lower()): an action spans its tasks and
/// blocking messages on the compute stream. One that has none there (a copy) takes no time, right
/// after the action before it. A rank ends with its optimizer, or with the step where none stands
/// at the end.
std::vector<RankSpans> rank_spans(const Program& program, const TaskGraph& graph,
                                  const Timeline& timeline);

/// Packs pieces into the idle intervals of `base`, that after a rank's last action included. An
/// interval takes the longest piece
/// that still fits, then the next; with `in_order` pieces keep their order and the first that does
/// not fit waits for a later interval. No action starts later than before, but for rounding.
/// Throws base::Error when the base has a pass X, when `work` has not one entry per rank, holds
/// seconds that are no finite number > 0, or more pieces than the Program can number.
Filled fill_bubbles(const Program& base, const std::vector<RankSpans>& spans,
                    const ForeignWork& work, bool in_order = false);

/// The same with the rank_spans of `graph` and `timeline`.
Filled fill_bubbles(const Program& base, const TaskGraph& graph, const Timeline& timeline,
                    const ForeignWork& work, bool in_order = false);

}  // namespace paceline::sim

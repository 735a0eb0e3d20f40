// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/fill.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.hpp"

namespace paceline::sim {
namespace {

constexpr const char* kForeignWork = "foreign work";

void check(const Program& base, const ForeignWork& work) {
  for (const Pass& pass : base.passes) {
    if (pass.name == "X") throw base::Error(kForeignWork, "the program has a pass X already");
  }
  if (work.size() != base.order.size()) {
    throw base::Error(kForeignWork,
                      std::to_string(work.size()) + " lists of pieces for " +
                          std::to_string(base.order.size()) + " ranks",
                      "one per rank is needed");
  }
  for (const auto& pieces : work) {
    for (const base::Seconds piece : pieces) {
      if (std::isfinite(piece.value) && piece.value > 0) continue;
      throw base::Error(kForeignWork, "a piece takes " + std::to_string(piece.value) + " s",
                        "a finite number > 0 is needed");
    }
  }
}

/// Whether a task of the compute stream is of the action at its `origin`: all are but the optimizer
/// at the end of the step, which no pass of the order stands for.
bool of_action(const Program& program, const Task& task) {
  if (task.kind != TaskKind::Optimizer) return true;
  const std::vector<Action>& order = program.order[task.lane];
  if (task.origin >= order.size()) return false;
  const std::string& pass = program.passes[order[task.origin].pass].name;
  return pass == "U" || pass == "N";
}

/// Pieces of one rank that wait for an interval.
class Pieces {
 public:
  Pieces(const std::vector<base::Seconds>& seconds, bool in_order)
      : seconds_(seconds), left_(seconds.size()), in_order_(in_order) {
    std::iota(left_.begin(), left_.end(), 0);
    if (in_order_) return;
    std::stable_sort(left_.begin(), left_.end(),
                     [&](int a, int b) { return length(a) > length(b); });
  }

  /// The piece for `room` seconds, taken out; -1 when none fits.
  int take(double room) {
    const auto fits = [&](int piece) { return length(piece) <= room; };
    auto found = left_.begin();
    if (in_order_) {
      if (left_.empty() || !fits(left_.front())) return -1;
    } else {
      found = std::partition_point(left_.begin(), left_.end(), [&](int p) { return !fits(p); });
      if (found == left_.end()) return -1;
    }
    const int piece = *found;
    left_.erase(found);
    return piece;
  }

  double length(int piece) const { return seconds_[static_cast<std::size_t>(piece)].value; }
  std::vector<int> left() const {
    std::vector<int> sorted = left_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  const std::vector<base::Seconds>& seconds_;
  std::vector<int> left_;  ///< in order, or longest first
  bool in_order_;
};

/// Numbers the actions of X: (microbatch, slice) of the stages of their rank, which no two share.
class Numbers {
 public:
  Numbers(const Program& base, Filled& filled)
      : per_stage_(static_cast<std::size_t>(base.microbatches) *
                   static_cast<std::size_t>(base.slices)),
        filled_(filled) {
    filled_.times.seconds.resize(static_cast<std::size_t>(base.stages));
  }

  Action next(const std::vector<int>& stages, double seconds) {
    for (const int stage : stages) {
      auto& given = filled_.times.seconds[static_cast<std::size_t>(stage)];
      if (given.size() == per_stage_) continue;
      const auto slices = static_cast<std::size_t>(filled_.program.slices);
      Action action;
      action.pass = static_cast<std::uint8_t>(filled_.program.passes.size() - 1);
      action.stage = static_cast<std::int16_t>(stage);
      action.microbatch = static_cast<std::int32_t>(given.size() / slices);
      action.slice = static_cast<std::int16_t>(given.size() % slices);
      given.emplace_back(seconds);
      return action;
    }
    throw base::Error(kForeignWork, "more pieces fit than a rank can number",
                      "cut the work into at most " + std::to_string(per_stage_) +
                          " pieces per stage of the rank");
  }

 private:
  std::size_t per_stage_;
  Filled& filled_;
};

std::vector<int> stages_on(const std::vector<Action>& order) {
  std::vector<int> stages;
  for (const Action& action : order) stages.push_back(action.stage);
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  return stages;
}

}  // namespace

std::vector<RankSpans> rank_spans(const Program& program, const TaskGraph& graph,
                                  const Timeline& timeline) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  PACELINE_CHECK(graph.lanes.size() == program.order.size());
  std::vector<RankSpans> spans(program.order.size());
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    spans[rank].actions.assign(program.order[rank].size(), {kNever, 0});
    spans[rank].end = timeline.makespan;
  }
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.stream != Stream::Compute) continue;
    RankSpans& rank = spans[task.lane];
    if (!of_action(program, task)) {
      rank.end = std::min(rank.end, timeline.start[t]);
      continue;
    }
    RankSpans::Span& span = rank.actions.at(task.origin);
    span.start = std::min(span.start, timeline.start[t]);
    span.finish = std::max(span.finish, timeline.finish[t]);
  }
  for (RankSpans& rank : spans) {
    double before = 0;
    for (RankSpans::Span& span : rank.actions) {
      if (span.start == kNever) span = {before, before};
      before = span.finish;
    }
  }
  return spans;
}

Filled fill_bubbles(const Program& base, const TaskGraph& graph, const Timeline& timeline,
                    const ForeignWork& work, bool in_order) {
  return fill_bubbles(base, rank_spans(base, graph, timeline), work, in_order);
}

Filled fill_bubbles(const Program& base, const std::vector<RankSpans>& spans,
                    const ForeignWork& work, bool in_order) {
  check(base, work);
  PACELINE_CHECK(spans.size() == base.order.size());
  Filled filled{base, {"X", {}}, {}};
  Pass foreign{"X", Direction::None, {}, {}};
  foreign.sparse = true;
  filled.program.passes.push_back(foreign);
  Numbers numbers(base, filled);
  for (std::size_t rank = 0; rank < base.order.size(); ++rank) {
    const std::vector<Action>& order = base.order[rank];
    std::vector<Action>& filled_order = filled.program.order[rank];
    filled_order.clear();
    const std::vector<RankSpans::Span>& runs = spans[rank].actions;
    const double rounding = 1e-12 * spans[rank].end;
    const std::vector<int> stages = stages_on(order);
    Pieces pieces(work[rank], in_order);
    double busy_until = 0;
    for (std::size_t i = 0; i <= order.size(); ++i) {
      const bool inside_group = i > 0 && order[i - 1].fused;
      double room = (i < order.size() ? runs[i].start : spans[rank].end) - busy_until;
      for (int piece = 0; !inside_group && (piece = pieces.take(room + rounding)) >= 0;) {
        room -= pieces.length(piece);
        filled_order.push_back(numbers.next(stages, pieces.length(piece)));
      }
      if (i == order.size()) break;
      filled_order.push_back(order[i]);
      busy_until = std::max(busy_until, runs[i].finish);
    }
    filled.left.push_back(pieces.left());
  }
  return filled;
}

}  // namespace paceline::sim

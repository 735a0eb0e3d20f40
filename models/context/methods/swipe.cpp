// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "models/context/method.hpp"

namespace paceline::models {
namespace {

/// Share of the tokens of a square of `windows` windows that leave it when the grid of windows
/// moves by half a window in both directions, as every second Swin layer does.
double shifted_share(double windows) {
  const double stays = 1 - 0.5 / std::sqrt(windows);
  return 1 - stays * stays;
}

}  // namespace

/// SWiPe (AERIS, arXiv 2509.13523): groups of `inner` ranks hold whole windows, so attention needs
/// no exchange between groups; inside a group heads are dealt as Ulysses does. The windows of a
/// group are neighbours, of which a shift moves the edges.
ContextWork plan_swipe(const ContextTask& task) {
  ContextWork work;
  const double groups = static_cast<double>(task.ranks) / task.inner;
  const auto windows = static_cast<double>(std::max<std::int64_t>(1, task.mask.subsequences));
  const Block whole = whole_of(task);
  const std::vector<Block> blocks(task.queries.size(), whole);
  ContextStep step = step_of(task, blocks, 1.0 / task.ranks);
  step.rows *= task.inner;
  step.length = whole.length() / windows;
  work.steps.push_back(step);
  if (task.inner > 1)
    add_head_exchange(work, task, ContextGroup::Inner, task.inner, most_queries(task));
  if (groups <= 1) return work;
  const double moved = shifted_share(std::max(1.0, windows / groups)) * most_queries(task);
  work.after.push_back(
      {"shift windows", CollectiveOp::SendRecv, ContextGroup::Outer, 0, 0, moved, 1});
  work.outputs += moved;
  return work;
}

}  // namespace paceline::models

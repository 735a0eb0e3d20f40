// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/rank_tasks.hpp"

#include <string>

#include "base/error.hpp"

namespace paceline::hardware {
namespace {

using sim::Exchange;
using sim::Task;
using sim::TaskId;
using sim::TaskKind;

void check_lanes(const sim::TaskGraph& graph, int ranks) {
  std::vector<bool> seen(static_cast<std::size_t>(ranks), false);
  for (const sim::Lane& lane : graph.lanes) {
    const bool known = lane.members == 1 && lane.representative >= 0 && lane.representative < ranks;
    if (known && !seen[static_cast<std::size_t>(lane.representative)]) {
      seen[static_cast<std::size_t>(lane.representative)] = true;
      continue;
    }
    throw base::Error("ranks", "the scenario has " + std::to_string(graph.lanes.size()) +
                                   " ranks, " + std::to_string(ranks) + " run here");
  }
  if (graph.lanes.size() != seen.size()) {
    throw base::Error("ranks", "the scenario has " + std::to_string(graph.lanes.size()) +
                                   " ranks, " + std::to_string(ranks) + " run here");
  }
}

std::vector<const Exchange*> by_task(const sim::TaskGraph& graph) {
  std::vector<const Exchange*> exchange(graph.tasks.size(), nullptr);
  for (const Exchange& e : graph.exchanges) exchange[e.task] = &e;
  return exchange;
}

RankTask deed_of(const sim::TaskGraph& graph, TaskId t, const Exchange* exchange) {
  const Task& task = graph.tasks[t];
  const bool shared = exchange != nullptr && exchange->ranks.size() > 1;
  if (task.kind == TaskKind::Message && shared) return {t, Deed::Send, exchange};
  if (task.kind == TaskKind::Collective && shared) return {t, Deed::Collective, exchange};
  if (task.kind == TaskKind::Collective && task.seconds > 0) {
    throw base::Error(graph.segments[task.segment].name,
                      "this exchange has no form that runs: only messages, all_reduce, all_gather, "
                      "reduce_scatter and broadcast of parallel groups do");
  }
  return {t, task.seconds > 0 ? Deed::Compute : Deed::Nothing, nullptr};
}

}  // namespace

RankPart part_of(const sim::TaskGraph& graph, int rank, int ranks) {
  check_lanes(graph, ranks);
  const std::vector<const Exchange*> exchange = by_task(graph);
  RankPart part;
  std::uint32_t origin = 0;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (graph.lanes[task.lane].representative == rank) {
      const bool starts = task.kind == TaskKind::Action || task.kind == TaskKind::Optimizer;
      if (part.groups.empty() || (starts && task.origin != origin)) {
        part.groups.push_back({part.tasks.size(), part.tasks.size()});
        origin = task.origin;
      }
      part.tasks.push_back(deed_of(graph, t, exchange[t]));
      part.groups.back().last = part.tasks.size();
    } else if (task.kind == TaskKind::Message && exchange[t] != nullptr &&
               exchange[t]->ranks.size() == 2 && exchange[t]->ranks[1] == rank) {
      part.receives.push_back(exchange[t]);
    }
  }
  return part;
}

}  // namespace paceline::hardware

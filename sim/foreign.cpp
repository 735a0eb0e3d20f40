// SPDX-License-Identifier: Apache-2.0
#include "sim/foreign.hpp"

#include "base/error.hpp"
#include "sim/schedules/fill.hpp"

namespace paceline::sim {

void check_foreign(const models::Scenario& scenario) {
  if (scenario.foreign.pieces == 0) return;
  const std::string where = models::where(scenario, "foreign");
  if (repeats(scenario)) {
    throw base::Error(where, "foreign work needs steps that end: this one runs into the next",
                      "a schedule that flushes, with optimizer.norm_barrier");
  }
  if (scenario.schedule.dispatch.policy == models::Dispatch::Ready) {
    throw base::Error(where,
                      "foreign work does not go with ready dispatch: idle time has no place in an "
                      "order that may change",
                      "schedule.dispatch: fixed");
  }
}

ForeignDone add_foreign(const models::Scenario& scenario, Prediction& p) {
  const models::ForeignWork& foreign = scenario.foreign;
  const auto ranks = p.program.order.size();
  const auto pieces = static_cast<std::size_t>(foreign.pieces);
  ForeignWork work(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    work[rank].assign(pieces / ranks + (rank < pieces % ranks ? 1 : 0), foreign.seconds);
  ForeignDone result{foreign.pieces, foreign.pieces, foreign.seconds.value};
  try {
    Filled filled = fill_bubbles(p.program, p.graph, p.timeline, work, true);
    for (const std::vector<int>& left : filled.left) result.done -= static_cast<int>(left.size());
    p.program = std::move(filled.program);
  } catch (const base::Error& error) {
    throw base::Error(models::where(scenario, "foreign"), error.what());
  }
  return result;
}

}  // namespace paceline::sim

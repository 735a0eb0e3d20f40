// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/stage_times.hpp"

#include <algorithm>

#include "sim/lower/hop.hpp"
#include "sim/lower/stage_work.hpp"

namespace paceline::sim {

StageTimes stage_times(const models::Scenario& scenario, const models::Plan& plan) {
  const CostContext context = cost_context(scenario, plan, plan.pipeline.front().device);
  WorkNeeds needs;
  for (const Role role : {Role::Forward, Role::Input, Role::Weight})
    needs.roles[index_of(role)] = true;
  std::vector<HeldStage> held;
  for (int stage = 0; stage < static_cast<int>(plan.stages.size()); ++stage)
    held.push_back({stage, &context});
  TaskGraph graph;
  StageTimes times;
  for (const StageWork& work : cost_stages(graph, plan, held, needs)) {
    const auto seconds = [&](Role role) {
      return base::Seconds(graph.segments[work.slices.front().segment[index_of(role)]].seconds);
    };
    const models::StageMemory& m = work.memory;
    times.stages.push_back({seconds(Role::Forward), seconds(Role::Input), seconds(Role::Weight),
                            base::Bytes(m.activation),
                            base::Bytes(std::max(0.0, m.activation - m.kept_for_weights))});
  }
  const int hops = models::places_differ(scenario) ? scenario.parallel.pp - 1
                                                   : std::min(1, scenario.parallel.pp - 1);
  for (int r = 0; r < hops; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const auto pair = models::slowest_pair(plan, scenario, plan.pipeline[rank].device,
                                           plan.pipeline[rank + 1].device);
    times.hop = std::max(
        times.hop, base::Seconds(hop_time(context, plan, pair, 1, layer_below(plan, r)).seconds));
  }
  return times;
}

}  // namespace paceline::sim

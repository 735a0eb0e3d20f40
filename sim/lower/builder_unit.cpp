// SPDX-License-Identifier: Apache-2.0
#include "models/cost/memory.hpp"
#include "sim/lower/builder.hpp"

/// Sharded weights that several microbatches gather once (Program::gather_unit).
namespace paceline::sim {

/// A shard of them is resident anyway; the two layers of the working set (models::stage_memory) are
/// those that are gathered ahead.
void StepBuilder::keep_whole(const ActionContext& action, Task task) {
  const int rank = rank_of(action.lane);
  const Role r = role(action);
  const auto [found, fresh] = side_segments_.try_emplace(
      {action.opens ? "keep" : "let go", rank, action.action.stage, action.action.pass},
      std::uint16_t{0});
  if (fresh) {
    const models::Scenario& s = *part_of(action).s;
    const models::StateBytes bytes = models::state_bytes(s);
    const auto stage = static_cast<std::size_t>(action.action.stage);
    const models::HeldParameters whole = models::held_parameters(s, plan_.stages[stage]);
    const models::DataRanks shards = models::shard_ranks(s);
    const double missing =
        whole.dense * (1 - 1 / shards.dense) + whole.experts * (1 - 1 / shards.experts);
    found->second = add_segment(graph_, action.opens ? "keep whole" : "let go", {});
    Segment& segment = graph_.segments[found->second];
    auto& deltas = action.opens ? segment.at_start : segment.at_finish;
    const double sign = action.opens ? 1 : -1;
    if (needs_weights(r)) deltas.push_back({MemoryPart::Parameters, sign * missing * bytes.weight});
    if (gives_gradients(r) && !s.frozen)
      deltas.push_back({MemoryPart::Gradients, sign * missing * bytes.gradient});
  }
  task.segment = found->second;
  add(task, {});
}

}  // namespace paceline::sim

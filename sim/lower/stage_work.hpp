// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "models/cost/memory.hpp"
#include "sim/lower/pass_cost.hpp"

namespace paceline::sim {

/// A piece of a pass that parameters are gathered for and gradients reduced after: one layer, or an
/// end. Segments index TaskGraph::segments.
struct PassPart {
  std::uint16_t forward = 0, backward = 0;
  double gather_bytes = 0, reduce_bytes = 0;
  /// Pieces of both, where CostContext::keep_inner asks for them.
  std::shared_ptr<const std::vector<InnerTask>> forward_inner, backward_inner;
};

/// What the actions of one stage cost. Stages of the same composition share their segments.
struct StageWork {
  std::uint16_t forward = 0, backward = 0;  ///< whole passes
  std::vector<PassPart> parts;              ///< in forward order
  models::StageMemory memory;
  double parameters = 0;                      ///< on a rank
  double gather_bytes = 0, reduce_bytes = 0;  ///< of all parts
};

/// Costs every stage of the plan, adding segments to the graph. `contexts[stage]` is the context of
/// the rank that runs the stage.
std::vector<StageWork> cost_stages(TaskGraph& graph, const models::Plan& plan,
                                   const std::vector<const CostContext*>& contexts);

std::uint16_t add_segment(TaskGraph& graph, std::string name, const PassCost& cost);

}  // namespace paceline::sim

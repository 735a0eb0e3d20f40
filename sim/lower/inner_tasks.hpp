// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/lower/pass_cost.hpp"

namespace paceline::sim {

/// The pieces of a list of operations: kernels that follow one another as one, collectives with
/// what they send. Their dependencies are those of inner_graph.
std::vector<InnerTask> inner_tasks(const CostContext& context, const std::vector<models::Op>& ops);

/// Appends pieces that start `offset` seconds later, after all of `list` has ended.
void append_inner(std::vector<InnerTask>& list, const std::vector<InnerTask>& more, double offset);

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "models/workload/dispatchers/dispatcher.hpp"
#include "models/workload/expert_load.hpp"

// DeepSeek-V3, arXiv 2412.19437, section 3.2.2: a token crosses the network once to each node with
// an expert of it, to the device with its own place in the node, and goes from there over the
// device link once to each rank that needs it; results come back the same way, added up on the
// node. Which experts share a node or a rank follows from the number of experts chosen, all choices
// alike.
namespace paceline::models::detail {
namespace {

struct Reach {
  double nodes = 1, ranks = 1;  ///< that a token reaches
};

Reach reach_of(const ExpertShape& e, const Exchange& x) {
  const double nodes = e.nodes, here = static_cast<double>(e.ep) / nodes;
  const int limit = e.settings.node_limit;
  const double chosen = limit > 0 ? std::min<double>(limit, nodes) : nodes;
  const double experts = x.count * chosen / nodes;
  return {distinct_parts(experts, x.per_token, chosen),
          distinct_parts(experts, x.per_token, chosen * here)};
}

void exchange_once(Builder& b, const Exchange& x, std::string_view name, double share) {
  const ExpertShape& e = b.shape().experts;
  if (e.ep == 1) return;
  const Reach reach = reach_of(e, x);
  const double nodes = e.nodes, here = static_cast<double>(e.ep) / nodes;
  const double row = share * kHalf * x.routed.hidden * x.routed.tokens * e.load;
  b.two_step(name, x.phase, row * reach.nodes * (nodes - 1) / nodes,
             row * reach.ranks * (here - 1) / here);
}

/// Rows that arrive: one for each rank a token reaches.
double arriving(const Builder& b, const Exchange& x) {
  const ExpertShape& e = b.shape().experts;
  return x.routed.tokens * e.load * (e.ep == 1 ? 1 : reach_of(e, x).ranks);
}

}  // namespace

void deepep_to_experts(Builder& b, const Exchange& x) {
  exchange_once(b, x, "dispatch", dispatch_share(b));
  const double reads = arriving(b, x) + (x.phase == Phase::Forward ? 0 : x.routed.routes);
  copy_rows(b, "permute", x.phase, reads, x.routed.routes, x.routed.hidden);
  gather_rows(b, x);
}

void deepep_from_experts(Builder& b, const Exchange& x) {
  scatter_rows(b, x);
  copy_rows(b, "unpermute", x.phase, x.routed.routes, arriving(b, x), x.routed.hidden);
  exchange_once(b, x, "combine", 1);
}

}  // namespace paceline::models::detail

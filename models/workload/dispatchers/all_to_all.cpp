// SPDX-License-Identifier: Apache-2.0
#include "models/workload/dispatchers/dispatcher.hpp"

// Every copy of a token goes to the rank of its expert and back: each rank holds routes * hidden
// elements for all of its group, of which (ep - 1) / ep leave it. Copies are sorted by rank before
// and by expert after (GShard, arXiv 2006.16668, section 3.2).
namespace paceline::models::detail {
namespace {

void exchange_copies(Builder& b, const Exchange& x, std::string_view name, double share) {
  if (b.shape().experts.ep == 1) return;
  b.collective(name, x.phase, CollectiveOp::AllToAll, GroupAxis::Ep,
               share * kHalf * x.routed.routes * x.routed.hidden, 0);
}

/// Rows from several ranks lie rank after rank; products want them expert after expert.
void sort_rows(Builder& b, const Exchange& x, std::string_view name) {
  if (x.routed.experts <= 1 || b.shape().experts.ranks() == 1) return;
  copy_rows(b, name, x.phase, x.routed.rows, x.routed.rows, x.routed.hidden);
}

}  // namespace

void all_to_all_to_experts(Builder& b, const Exchange& x) {
  const double reads = x.phase == Phase::Forward ? x.routed.routes : x.routed.routes * 2;
  const double share = dispatch_share(b);
  copy_rows(b, "permute", x.phase, share * reads, share * x.routed.routes, x.routed.hidden);
  exchange_copies(b, x, "dispatch", share);
  gather_rows(b, x);
  sort_rows(b, x, "sort by expert");
}

void all_to_all_from_experts(Builder& b, const Exchange& x) {
  sort_rows(b, x, "sort by rank");
  scatter_rows(b, x);
  exchange_copies(b, x, "combine", 1);
  copy_rows(b, "unpermute", x.phase, x.routed.routes, x.routed.tokens, x.routed.hidden);
}

}  // namespace paceline::models::detail

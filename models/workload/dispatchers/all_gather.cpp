// SPDX-License-Identifier: Apache-2.0
#include "models/workload/dispatchers/dispatcher.hpp"

// Every rank gathers the tokens of its whole group and takes those of its experts; results are
// added up where they came from: an all-gather and a reduce-scatter of ep * tokens * hidden
// elements, whatever the number of experts a token has.
namespace paceline::models::detail {
namespace {

double gathered(const Builder& b, const Exchange& x) {
  return x.routed.tokens * b.shape().experts.ranks();
}

void over(Builder& b, const Exchange& x, std::string_view name, CollectiveOp op, GroupAxis axis,
          double ranks, double share = 1) {
  if (ranks <= 1) return;
  b.collective(name, x.phase, op, axis, share * kHalf * x.routed.tokens * ranks * x.routed.hidden,
               0);
}

}  // namespace

void all_gather_to_experts(Builder& b, const Exchange& x) {
  const ExpertShape& e = b.shape().experts;
  over(b, x, "dispatch", CollectiveOp::AllGather, GroupAxis::Ep, e.ep, dispatch_share(b));
  if (e.etp > 1)
    over(b, x, "gather tokens", CollectiveOp::AllGather, GroupAxis::Etp, e.ranks(),
         dispatch_share(b));
  const double reads = x.phase == Phase::Forward ? x.routed.rows : x.routed.rows * 2;
  copy_rows(b, "permute", x.phase, reads, x.routed.rows, x.routed.hidden);
}

void all_gather_from_experts(Builder& b, const Exchange& x) {
  const ExpertShape& e = b.shape().experts;
  copy_rows(b, "unpermute", x.phase, x.routed.rows, gathered(b, x), x.routed.hidden);
  if (e.etp > 1)
    over(b, x, "reduce tokens", CollectiveOp::ReduceScatter, GroupAxis::Etp, e.ranks());
  over(b, x, "combine", CollectiveOp::ReduceScatter, GroupAxis::Ep, e.ep);
}

}  // namespace paceline::models::detail

// SPDX-License-Identifier: Apache-2.0
#include "models/workload/dispatchers/dispatcher.hpp"

// Pipeline MoE (arXiv 2304.11414): experts are dealt over the ranks of a tensor group, which hold
// the same tokens anyway. Each takes those of its experts; the sum over the group that a tensor
// group does for a dense MLP brings the results together.
namespace paceline::models::detail {
namespace {

void add_up(Builder& b, const Exchange& x, std::string_view name) {
  const ExpertShape& e = b.shape().experts;
  const double bytes = kHalf * x.routed.tokens * x.routed.hidden;
  if (e.etp > 1) b.collective(name, x.phase, CollectiveOp::AllReduce, GroupAxis::Etp, bytes, 0);
  if (e.ep > 1) b.collective(name, x.phase, CollectiveOp::AllReduce, GroupAxis::Ep, bytes, 0);
}

}  // namespace

void slice_to_experts(Builder& b, const Exchange& x) {
  const double reads = x.phase == Phase::Forward ? x.routed.rows : x.routed.rows * 2;
  copy_rows(b, "permute", x.phase, reads, x.routed.rows, x.routed.hidden);
}

void slice_from_experts(Builder& b, const Exchange& x) {
  copy_rows(b, "unpermute", x.phase, x.routed.rows, x.routed.tokens, x.routed.hidden);
  add_up(b, x, "combine");
}

}  // namespace paceline::models::detail

// SPDX-License-Identifier: Apache-2.0
#include "models/workload/op_builder.hpp"

namespace paceline::models::detail {
namespace {

bool bulk(const Builder& b) { return b.stack().tp_overlap == TpOverlap::Bulk; }

/// Out of a row-parallel GEMM. With bulk overlap the reduction is pipelined with the GEMM that
/// produces it, hence stands before it in the list.
void leave_forward(Builder& b, double hidden, std::string_view name, int beside) {
  if (b.shape().tp == 1) return;
  b.collective(name, Phase::Forward,
               b.shape().sequence_parallel ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
               GroupAxis::Tp, 2 * b.tokens() * hidden, beside);
}

}  // namespace

Widths widths(const Attention& a, double t) {
  const double kv_heads = std::max(static_cast<double>(a.kv_heads) / t, 1.0);
  return {static_cast<double>(a.heads * a.head_dim) / t, kv_heads * static_cast<double>(a.head_dim),
          static_cast<double>(a.heads * a.value_dim) / t};
}

/// Into a column-parallel GEMM: gathers the sequence shards (nothing to do without them).
void enter_forward(Builder& b, double hidden, std::string_view name) {
  if (b.shape().tp == 1 || !b.shape().sequence_parallel) return;
  b.collective(name, Phase::Forward, CollectiveOp::AllGather, GroupAxis::Tp,
               2 * b.tokens() * hidden, bulk(b) ? 1 : 0);
}

void row_parallel_forward(Builder& b, std::string_view name, double hidden, double k, Precision p) {
  const bool overlapped = bulk(b) && b.shape().sequence_parallel;
  if (overlapped) leave_forward(b, hidden, "reduce", 1);
  b.gemm(name, Phase::Forward, b.tokens(), hidden, k, p);
  if (!overlapped) leave_forward(b, hidden, "reduce", 0);
}

/// Backward of a row-parallel GEMM Y = X W: dX = dY W', dW = X' dY.
void row_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                           double hidden, double k, Precision p) {
  if (b.shape().tp > 1 && b.shape().sequence_parallel) {
    b.collective("gather dY", Phase::Input, CollectiveOp::AllGather, GroupAxis::Tp,
                 2 * b.tokens() * hidden, bulk(b) ? 1 : 0);
  }
  b.gemm(input, Phase::Input, b.tokens(), k, hidden, p);
  b.gemm(weight, Phase::Weight, k, hidden, b.tokens(), p);
}

/// Backward of a column-parallel GEMM: dX needs a reduction over tp, which hides behind dW where
/// the stack overlaps; with sequence parallelism X is gathered again for dW (beside dX).
void column_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                              double hidden, double n, Precision p) {
  const bool tp = b.shape().tp > 1;
  const bool sp = b.shape().sequence_parallel;
  const bool overlap = b.stack().tp_overlap != TpOverlap::None;
  if (tp && sp) {
    b.collective("gather X", Phase::Input, CollectiveOp::AllGather, GroupAxis::Tp,
                 2 * b.tokens() * hidden, overlap ? 1 : 0);
  }
  b.gemm(input, Phase::Input, b.tokens(), hidden, n, p);
  if (tp) {
    b.collective("reduce dX", Phase::Input,
                 sp ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce, GroupAxis::Tp,
                 2 * b.tokens() * hidden, overlap ? 1 : 0);
  }
  b.gemm(weight, Phase::Weight, hidden, n, b.tokens(), p);
}

}  // namespace paceline::models::detail

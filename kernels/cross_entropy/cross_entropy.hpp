// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "base/numeric/elementary.hpp"
#include "kernels/operation.hpp"

/// Per row of logits: lse = log sum exp(logits), loss = lse - logits[target], and the gradient
/// dlogits = (exp(logits - lse) - [column == target]) * dloss, dloss being the gradient of the
/// row's loss (1/tokens for a mean, 0 for a row that does not count).
///
/// `cross-entropy-chunk` does the same with `chunk` columns at a time, those from `first` on, so
/// that the logits of a whole vocabulary need not exist at once: the online log-sum-exp of Milakov
/// and Gimelshein (Online normalizer calculation for softmax, arXiv:1805.02867, algorithm 3) with
/// rows whose chunks pass one after another. Between chunks lse holds the log-sum-exp of the
/// columns so far and loss that less the target's logit where it has passed; after the last chunk
/// both are what `cross-entropy` gives. The first chunk (first = 0) does not read them. dlogits may
/// be logits. Targets lie in [0, vocab).
namespace paceline::kernels {

/// sum: of exp(x - max) over some x.
struct MaxSum {
  float max, sum;
};
/// No x at all. Not minus infinity, from which differences would be NaN.
PACELINE_HD inline MaxSum nothing_summed() { return {-3.402823466e38F, 0}; }

PACELINE_HD inline MaxSum merged(MaxSum a, MaxSum b) {
  const float max = a.max > b.max ? a.max : b.max;
  return {max, a.sum * numeric::exp_of(a.max - max) + b.sum * numeric::exp_of(b.max - max)};
}

struct RowLoss {
  float lse, loss;
};
/// After columns whose sum is `seen`, with `picked` the target's logit if it is among them, else 0;
/// `before`: the row's state before them.
PACELINE_HD inline RowLoss next_loss(MaxSum seen, float picked, bool any_before, RowLoss before) {
  if (any_before) {
    seen = merged(seen, {before.lse, 1});
    picked += before.lse - before.loss;
  }
  const float lse = seen.max + logf(seen.sum);
  return {lse, lse - picked};
}

PACELINE_HD inline float cross_entropy_slope(float logit, float lse, bool target, float dloss) {
  return (numeric::exp_of(logit - lse) - (target ? 1.0F : 0.0F)) * dloss;
}

/// Which columns of the vocabulary a call sees: all of them, or a chunk.
struct Slice {
  std::int64_t first, columns;
};
inline Slice slice_of(const Case& c) {
  if (!c.shape.has("chunk")) return {0, c.shape["vocab"]};
  return {c.shape["first"], c.shape["chunk"]};
}

PACELINE_DECLARE_DEVICE(cross_entropy_forward)
PACELINE_DECLARE_DEVICE(cross_entropy_input_gradient)

}  // namespace paceline::kernels

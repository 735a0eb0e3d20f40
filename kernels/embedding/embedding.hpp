// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// y[row] = table[token[row]], and the gradient dtable[token[row]] += dy[row], in fp32. Tokens lie
/// in [0, vocab) and may repeat; dtable is added to, so that microbatches accumulate. The rows of a
/// token are added in their order on the processor and on a device, where the first row of a token
/// looks for the others: no atomic additions of floats, the same result in every run.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(embedding_forward)
PACELINE_DECLARE_DEVICE(embedding_weight_gradient)

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/votes.hpp"
#include "kernels/operation.hpp"

/// Minus, zero and plus as two bits and the majority vote of `workers` of them
/// (base/numeric/votes.hpp). Words of worker w start at w * ternary_words(count). Bits behind the
/// last element are 0.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(pack_ternary_encode)
PACELINE_DECLARE_DEVICE(pack_ternary_vote)
PACELINE_DECLARE_DEVICE(pack_ternary_decode)

}  // namespace paceline::kernels

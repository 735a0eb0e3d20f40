// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// y = exp(x - max(x)) / sum exp(x - max(x)) per row; dx = y * (dy - sum(dy * y)).
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(softmax_forward)
PACELINE_DECLARE_DEVICE(softmax_input_gradient)

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// What linear layers add to every row: y = x + b, db = sum over rows of dy. The gradient of x is
/// that of y.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(bias_forward)
PACELINE_DECLARE_DEVICE(bias_weight_gradient)

}  // namespace paceline::kernels

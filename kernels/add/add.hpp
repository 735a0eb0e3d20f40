// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// y = a + b, what residuals and sums of gradients are made of. y may be a.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(add_forward)

}  // namespace paceline::kernels

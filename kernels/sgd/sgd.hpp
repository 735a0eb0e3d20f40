// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(sgd_step)

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/adamw/step.hpp"

namespace paceline::kernels {

/// AdamW's formulas (base/numeric/optimizers.hpp) in double; the gradient of parameter i is
/// `gradient[i]`.
void adamw_reference(const std::vector<double>& gradient, Values& v,
                     StepTensors<numeric::AdamW> t = {});
constexpr const char* kAdamWStates[] = {"m", "v"};
constexpr double kAdamWFlops = 15;

PACELINE_DECLARE_DEVICE(adamw_step)

}  // namespace paceline::kernels

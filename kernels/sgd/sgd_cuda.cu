// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/step_device.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/sgd/sgd.hpp"

namespace paceline::kernels::PACELINE_TARGET {

void sgd_step(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_step, s, numeric::Sgd{}); }

}  // namespace paceline::kernels::PACELINE_TARGET

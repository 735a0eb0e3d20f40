// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw.hpp"
#include "kernels/adamw/step_device.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels::PACELINE_TARGET {

void adamw_step(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_step, s, numeric::AdamW{}); }

}  // namespace paceline::kernels::PACELINE_TARGET

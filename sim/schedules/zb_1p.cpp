// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/zb_auto.hpp"

namespace paceline::sim {

// ZB-1p: the list scheduler with the activation memory of 1F1B.
Program zb_1p(const PipelineShape& shape) { return zb_auto(shape, "zb-1p", shape.ranks, 1); }

}  // namespace paceline::sim

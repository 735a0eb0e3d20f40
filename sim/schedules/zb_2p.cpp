// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/zb_auto.hpp"

namespace paceline::sim {

// ZB-2p: the list scheduler with twice the activation memory of 1F1B.
Program zb_2p(const PipelineShape& shape) { return zb_auto(shape, "zb-2p", 2.0 * shape.ranks, 2); }

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/staggered.hpp"

namespace paceline::sim {

// Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024), section 2.3: forwards fill the ramp up
// and W the ramp down, so that every rank works without a break; the ranks end one after another,
// and only a step that waits for no common barrier gains from it. Fewer than 2 * ranks - 1
// microbatches run too, with idle ramps.
Program zb_h2(const PipelineShape& shape) {
  check_one_chunk(shape, "zb-h2");
  return staggered_program(shape, 2);
}

}  // namespace paceline::sim

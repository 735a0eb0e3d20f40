// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/staggered.hpp"

namespace paceline::sim {

// Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024), section 2.2: the order of 1F1B, W late
// enough that every rank holds as many activations as the first, which shortens both ends.
Program zb_h1(const PipelineShape& shape) {
  check_one_chunk(shape, "zb-h1");
  return staggered_program(shape, 1);
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/bidirectional.hpp"

namespace paceline::sim {

// Li and Hoefler, "Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional
// Pipelines" (SC'21), one pair of pipelines: stage s stands on rank s and, for the other direction,
// on rank D-1-s. A unit of D microbatches sends half of them each way; more microbatches are units
// one after another (the paper's direct concatenation; its forward doubling and backward halving
// are not modelled). What is left over after whole units is one unit with empty slots: the odd one
// goes down from rank 0. Our reading, as the paper takes N from multiples of D.
Program chimera(const PipelineShape& shape) {
  check_chunks(shape, "chimera", 1);
  check_multiple(shape.ranks, 2, "pipeline ranks", "schedule chimera",
                 "the two directions meet between ranks");
  Program program = two_pass_program(shape);
  fill_bidirectional(program, shape);
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/bidirectional.hpp"

namespace paceline::sim {

// BitPipe (Wu et al., arXiv 2410.19367): Chimera's two directions, each a V over two chunks. Rank d
// holds stages d and 2P-1-d for one direction, P-1-d and P+d for the other. With slots of equal
// length a unit of P microbatches fills every slot between a rank's first and last action, so the
// warm-up is P + P/2 + min(d, P-1-d) chunk forwards and units follow without a gap. A last unit
// that is not full leaves slots empty.
Program bitpipe(const PipelineShape& shape) {
  check_chunks(shape, "bitpipe", 2);
  check_multiple(shape.ranks, 2, "pipeline ranks", "schedule bitpipe",
                 "the two directions meet between ranks");
  Program program = two_pass_program(shape);
  fill_bidirectional(program, shape);
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/dualpipe.hpp"

namespace paceline::sim {

// DualPipeV, DualPipe "cut in half" (Sea AI Lab, "DualPipe could be better without the Dual"): the
// two directions become the two arms of a V, so rank r holds stages r and 2R-1-r, one copy of the
// model stands on half the ranks, and every microbatch passes both phases. The steps are DualPipe's
// with the rank as position.
Program dualpipev(const PipelineShape& shape) {
  check_chunks(shape, "dualpipev", 2);
  check_two_per_rank(shape, "schedule dualpipev");
  Program program = dualpipe_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (const PhaseAction& step : dualpipe_steps(shape.ranks, rank, shape.microbatches)) {
      Action action =
          stage_action(step.pass, zigzag_stage(shape.ranks, rank, step.phase), step.index);
      action.fused = step.fused;
      program.order[static_cast<std::size_t>(rank)].push_back(action);
    }
  }
  return program;
}

}  // namespace paceline::sim

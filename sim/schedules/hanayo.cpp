// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"
#include "sim/schedules/greedy.hpp"

namespace paceline::sim {

// Hanayo (Liu et al., "Hanayo: Harnessing Wave-like Pipeline Parallelism", SC'23): 2W chunks per
// rank in zig-zag, so that W waves run over the ranks and turn without a message. A rank takes
// backwards first, else the forward of the oldest microbatch, which stands deepest; at most one
// microbatch per rank is under way. The authors' own order is not stated in text: up to one unit of
// P microbatches this is a greedy order under the given times. Under the same limit, greedy choices
// of unequal passes leave gaps that add up over units, so more microbatches take the order that
// passes of equal length give, in which units follow without a gap.
Program hanayo(const PipelineShape& shape) {
  check_shape(shape, "hanayo");
  check_multiple(shape.chunks, 2, "chunks", "schedule hanayo", "two per wave");
  Program program = two_pass_program(shape);
  const bool one_unit = shape.microbatches <= shape.ranks;
  GreedyRules rules;
  rules.rank = [&](int stage, int) { return zigzag_rank(shape.ranks, stage); };
  rules.seconds = [&](int pass, int stage) {
    if (!one_unit) return 1.0;
    return pass_seconds(shape, pass == kForward ? "F" : "BW", stage);
  };
  rules.hop = one_unit ? shape.times.hop.value : 0;
  rules.window = shape.ranks;
  rules.priority = [&](const Action& a) {
    const std::int64_t order = static_cast<std::int64_t>(a.microbatch) * shape.stages();
    return order - a.stage - (a.pass == kBackward ? kAheadOfAll : 0);
  };
  greedy_order(program, rules);
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"
#include "sim/schedules/greedy.hpp"

namespace paceline::sim {

// ZeroPP (Tang et al., arXiv 2402.03791): looping chunks whose weights are sharded over data
// parallel ranks (FSDP), so that a unit of U microbatches (option group) shares one gathering of a
// chunk's weights. Our reading of the text, which gives no order list:
//  - F and B go unit by unit and breadth-first inside a unit: all of its microbatches through one
//    chunk before the next chunk, chunks in reverse for B;
//  - a rank takes a ready B first, then F (so the blocks of one unit are staggered against those of
//    the next), and W only when neither is ready;
//  - a stage stores no input before that of U microbatches earlier is freed, so a rank never holds
//    more than U microbatches; where F waits for that, W runs.
// U = m gives the forwards of breadth-first, and backwards that begin as soon as they can. Default:
// one microbatch per rank, as interleaved.
Program zeropp(const PipelineShape& shape) {
  check_shape(shape, "zeropp");
  const int unit = shape.options.group > 0 ? shape.options.group : shape.ranks;
  Program program = split_program(shape);
  program.gather_unit = unit;
  GreedyRules rules;
  rules.rank = [&](int stage, int) { return stage % shape.ranks; };
  rules.seconds = [&](int pass, int stage) {
    return pass_seconds(shape, pass == kForward ? "F" : pass == kInput ? "B" : "W", stage);
  };
  rules.hop = shape.times.hop.value;
  rules.window = unit;
  rules.priority = [&](const Action& a) {
    const int chunk = a.stage / shape.ranks;
    const std::int64_t kind = a.pass == kInput ? 0 : a.pass == kForward ? 1 : 2;
    const std::int64_t block = std::int64_t{a.microbatch / unit} * shape.chunks +
                               (a.pass == kForward ? chunk : shape.chunks - 1 - chunk);
    return (kind << 61) + (block << 30) + a.microbatch;
  };
  greedy_order(program, rules);
  return program;
}

}  // namespace paceline::sim

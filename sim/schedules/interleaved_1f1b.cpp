// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"

namespace paceline::sim {
namespace {

void check_groups(const PipelineShape& shape) {
  check_shape(shape, "interleaved-1f1b");
  if (shape.microbatches % shape.ranks == 0) return;
  const int below = shape.microbatches / shape.ranks * shape.ranks;
  const std::string above = std::to_string(below + shape.ranks);
  throw base::Error("schedule interleaved-1f1b",
                    std::to_string(shape.microbatches) +
                        " microbatches do not divide into groups of " +
                        std::to_string(shape.ranks) + " (the pipeline ranks)",
                    "valid: a multiple of " + std::to_string(shape.ranks) + ", nearest " +
                        (below > 0 ? std::to_string(below) + " or " + above : above) +
                        "; 1f1b and breadth-first take any number");
}

/// The k-th chunk pass of a rank: groups of `ranks` microbatches walk through all chunks in turn.
Action chunk_pass(const PipelineShape& shape, std::uint8_t pass, int rank, int k) {
  const int round = shape.ranks * shape.chunks;
  const int chunk = k % round / shape.ranks;
  const int microbatch = k / round * shape.ranks + k % shape.ranks;
  return action_of(shape, pass, rank, pass == kForward ? chunk : shape.chunks - 1 - chunk,
                   microbatch);
}

}  // namespace

// Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM" (SC'21, section 2.2): chunk passes in 1F1B order after a warm-up long enough for the
// first backward of the last chunk; a single round is all warm-up.
Program interleaved_1f1b(const PipelineShape& shape) {
  if (shape.chunks == 1) return one_f_one_b(shape);
  check_groups(shape);
  Program program = two_pass_program(shape);
  const int passes = shape.microbatches * shape.chunks;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const int wanted = 2 * (shape.ranks - rank - 1) + (shape.chunks - 1) * shape.ranks;
    const int warm_up = shape.microbatches == shape.ranks ? passes : std::min(wanted, passes);
    int forward = 0;
    while (forward < warm_up) order.push_back(chunk_pass(shape, kForward, rank, forward++));
    for (int backward = 0; backward < passes; ++backward) {
      if (forward < passes) order.push_back(chunk_pass(shape, kForward, rank, forward++));
      order.push_back(chunk_pass(shape, kBackward, rank, backward));
    }
  }
  return program;
}

}  // namespace paceline::sim

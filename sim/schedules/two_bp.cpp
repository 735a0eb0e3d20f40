// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"

namespace paceline::sim {
namespace {

int limit_of(const PipelineShape& shape) {
  const double limit = shape.options.memory_limit;
  if (limit <= 0) return shape.microbatches;
  const int needed = std::min(shape.ranks, shape.microbatches);
  if (limit < needed) {
    throw base::Error("schedule 2bp",
                      "1F1B holds " + std::to_string(needed) +
                          " microbatches on the first rank, more than memory_limit allows",
                      "memory_limit of at least " + std::to_string(needed));
  }
  return static_cast<int>(std::min<double>(limit, shape.microbatches));
}

}  // namespace

// 2BP (Rae et al., "2BP: 2-Stage Backpropagation", arXiv 2405.18047) on 1F1B: the input gradient
// stands where 1F1B has the backward, the weight gradient is put off. By default all weight
// gradients come at the end, so a rank holds all microbatches; they may then run as one large GEMM.
// With memory_limit they go into idle time instead (our reading): one after each backward once the
// forwards are through, where 1F1B waits for the next rank, and before a forward that would hold
// more than the limit.
Program two_bp(const PipelineShape& shape) {
  check_chunks(shape, "2bp", 1);
  const bool idle = shape.options.memory_limit > 0;
  const int limit = limit_of(shape);
  Program program = split_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const int warm_up = std::min(shape.ranks - rank - 1, shape.microbatches);
    int forward = 0, weight = 0;
    const auto run_forward = [&] {
      if (forward - weight == limit) order.push_back(stage_action(kWeight, rank, weight++));
      order.push_back(stage_action(kForward, rank, forward++));
    };
    while (forward < warm_up) run_forward();
    for (int backward = 0; backward < shape.microbatches; ++backward) {
      if (forward < shape.microbatches) run_forward();
      order.push_back(stage_action(kInput, rank, backward));
      if (idle && forward == shape.microbatches)
        order.push_back(stage_action(kWeight, rank, weight++));
    }
    while (weight < shape.microbatches) order.push_back(stage_action(kWeight, rank, weight++));
  }
  return program;
}

}  // namespace paceline::sim

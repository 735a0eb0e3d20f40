// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"

namespace paceline::sim {
namespace {

int group_of(const PipelineShape& shape) {
  check_shape(shape, "gis");
  const int group = shape.options.group == 0 ? shape.ranks : shape.options.group;
  const int least = (shape.ranks + 1) / 2;
  if (group < least || group > shape.ranks) {
    throw base::Error("schedule gis", "group of " + std::to_string(group) + " microbatches",
                      "from " + std::to_string(least) + ", half the " +
                          std::to_string(shape.ranks) + " pipeline ranks, to " +
                          std::to_string(shape.ranks));
  }
  check_multiple(shape.microbatches, group, "microbatches", "schedule gis",
                 "the group that goes through together");
  return group;
}

/// The k-th chunk pass of a rank: groups of microbatches walk through all chunks in turn.
Action chunk_pass(const PipelineShape& shape, std::uint8_t pass, int group, int rank, int k) {
  const int round = group * shape.chunks;
  const int chunk = k % round / group;
  const int microbatch = k / round * group + k % group;
  return action_of(shape, pass, rank, pass == kForward ? chunk : shape.chunks - 1 - chunk,
                   microbatch);
}

}  // namespace

// Grouped interleaved 1F1B of PipeOffload (Wan et al., 2025): the interleaved order with groups of
// half to all of the ranks, one forward less ahead per rank (the split backward returns sooner),
// and W right behind its B. A rank holds group * (chunks - 1) + ranks - rank chunk activations.
Program gis(const PipelineShape& shape) {
  const int group = group_of(shape);
  Program program = split_program(shape);
  const int passes = shape.microbatches * shape.chunks;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& order = program.order[static_cast<std::size_t>(rank)];
    const int warm_up = std::min((shape.chunks - 1) * group + shape.ranks - rank - 1, passes);
    int forward = 0;
    while (forward < warm_up) order.push_back(chunk_pass(shape, kForward, group, rank, forward++));
    for (int backward = 0; backward < passes; ++backward) {
      if (forward < passes) {
        order.push_back(chunk_pass(shape, kForward, group, rank, forward++));
      }
      order.push_back(chunk_pass(shape, kInput, group, rank, backward));
      order.push_back(chunk_pass(shape, kWeight, group, rank, backward));
    }
  }
  return program;
}

}  // namespace paceline::sim

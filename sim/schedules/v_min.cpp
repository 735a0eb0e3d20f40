// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/v_block.hpp"

namespace paceline::sim {
namespace {

BlockRow v_min_row(int ranks, int rank) {
  const int turn = ranks % 3 == 0 ? 2 : 0;  // keeps the slots of a rank apart modulo the period
  BlockRow row;
  row.forward[0] = rank;
  row.forward[1] = 2 * ranks - 1 - rank;
  row.backward[1] = 2 * ranks + turn + rank;
  row.backward[0] = 4 * ranks + turn - 1 - rank;
  bool used[kBlockPeriod] = {};
  for (const int chunk : {0, 1}) {
    used[row.forward[chunk] % kBlockPeriod] = used[row.backward[chunk] % kBlockPeriod] = true;
  }
  for (const int chunk : {1, 0}) {
    int slot = row.backward[chunk] + 1;
    while (used[slot % kBlockPeriod]) ++slot;
    used[slot % kBlockPeriod] = true;
    row.weight[chunk] = slot;
  }
  return row;
}

}  // namespace

// Qi et al., "Pipeline Parallelism with Controllable Memory" (2024): about a third of the
// activations of 1F1B. The block has the fewest slots between a forward and its backward; W takes
// the first slots it leaves. The order is kept as it is, and its waits close by themselves.
Program v_min(const PipelineShape& shape) {
  check_chunks(shape, "v-min", 2);
  Program program = split_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    program.order[static_cast<std::size_t>(rank)] =
        repeat_block(shape, rank, v_min_row(shape.ranks, rank));
  }
  return program;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/v_block.hpp"

#include <algorithm>

namespace paceline::sim {

std::vector<Action> repeat_block(const PipelineShape& shape, int rank, const BlockRow& row) {
  struct Placed {
    int slot;
    std::uint8_t pass;
    int chunk;
  };
  std::vector<Placed> block;
  for (const int chunk : {0, 1}) {
    block.push_back({row.forward[chunk], kForward, chunk});
    block.push_back({row.backward[chunk], kInput, chunk});
    if (row.weight[chunk] >= 0) block.push_back({row.weight[chunk], kWeight, chunk});
  }
  std::sort(block.begin(), block.end(),
            [](const Placed& a, const Placed& b) { return a.slot < b.slot; });
  std::vector<Action> order;
  order.reserve(block.size() * static_cast<std::size_t>(shape.microbatches));
  // Of a period, every pass of the block runs once, each for the microbatch that is due.
  const int last = block.back().slot / kBlockPeriod + shape.microbatches;
  std::sort(block.begin(), block.end(), [](const Placed& a, const Placed& b) {
    return a.slot % kBlockPeriod < b.slot % kBlockPeriod;
  });
  for (int period = 0; period < last; ++period) {
    for (const Placed& placed : block) {
      const int microbatch = period - placed.slot / kBlockPeriod;
      if (microbatch < 0 || microbatch >= shape.microbatches) continue;
      order.push_back(
          stage_action(placed.pass, zigzag_stage(shape.ranks, rank, placed.chunk), microbatch));
    }
  }
  return order;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// Fang and Zhao 2024, "USP": the ranks of an inner group turn their tokens into shares of heads,
/// and go through the ring together.
ContextWork plan_usp(const ContextTask& task) {
  ContextWork work;
  const ContextTask outer = joined(task, task.inner);
  const auto ranks = static_cast<std::size_t>(outer.ranks);
  for (std::size_t j = 0; j < ranks; ++j) {
    std::vector<Block> blocks;
    for (std::size_t r = 0; r < ranks; ++r) {
      const Block block = block_of(outer, r, (r + ranks - j) % ranks);
      blocks.insert(blocks.end(), static_cast<std::size_t>(task.inner), block);
    }
    work.steps.push_back(step_of(outer, blocks, 1.0 / task.inner));
  }
  const double keys = most_keys(outer) / task.inner * key_copies(task, task.inner);
  add_ring(work, {ContextGroup::Outer, keys}, task.backward);
  add_head_exchange(work, task, ContextGroup::Inner, task.inner, most_queries(task));
  return work;
}

}  // namespace paceline::models

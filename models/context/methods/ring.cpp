// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// Liu et al. 2023, "Ring Attention": in step j rank r computes against the keys of rank r - j, and
/// passes them on meanwhile. A step lasts as long as its busiest rank: in contiguous order the last
/// rank has a full block in every step while others have none.
ContextWork plan_ring(const ContextTask& task) {
  ContextWork work;
  const auto ranks = static_cast<std::size_t>(task.ranks);
  for (std::size_t j = 0; j < ranks; ++j) {
    std::vector<Block> blocks;
    for (std::size_t r = 0; r < ranks; ++r)
      blocks.push_back(block_of(task, r, (r + ranks - j) % ranks));
    work.steps.push_back(step_of(task, blocks));
  }
  add_ring(work, {ContextGroup::All, most_keys(task)}, task.backward);
  return work;
}

}  // namespace paceline::models

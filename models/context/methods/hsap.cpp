// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// HSAP (abstract): two levels of groups, heads dealt inside and documents' keys exchanged outside.
ContextWork plan_hsap(const ContextTask& task) {
  ContextWork work;
  const ContextTask outer = joined(task, task.inner);
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < outer.queries.size(); ++r)
    blocks.insert(blocks.end(), static_cast<std::size_t>(task.inner), row_of(outer, r));
  work.steps.push_back(step_of(outer, blocks, 1.0 / task.inner));
  add_needed_keys(work, outer, ContextGroup::Outer, key_copies(task, task.inner) / task.inner);
  add_head_exchange(work, task, ContextGroup::Inner, task.inner, most_queries(task));
  return work;
}

}  // namespace paceline::models

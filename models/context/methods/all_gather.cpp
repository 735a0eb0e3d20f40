// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// Dubey et al. 2024, "The Llama 3 Herd of Models", section 3.3.2.
ContextWork plan_all_gather(const ContextTask& task) {
  ContextWork work;
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < task.queries.size(); ++r) blocks.push_back(row_of(task, r));
  const double keys = most_keys(task) * task.ranks;
  work.before.push_back({"gather KV", CollectiveOp::AllGather, ContextGroup::All, 0, keys, 0, 1});
  work.steps.push_back(step_of(task, blocks));
  work.keys = keys;
  if (!task.backward) return work;
  work.after.push_back(
      {"reduce dKV", CollectiveOp::ReduceScatter, ContextGroup::All, 0, keys, 0, 1});
  work.keys += keys;
  return work;
}

}  // namespace paceline::models

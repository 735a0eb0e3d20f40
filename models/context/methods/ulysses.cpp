// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// Jacobs et al. 2023, "DeepSpeed Ulysses": every rank computes all scores of its share of the
/// heads, so the mask does not matter for balance.
ContextWork plan_ulysses(const ContextTask& task) {
  ContextWork work;
  const std::vector<Block> blocks(task.queries.size(), whole_of(task));
  ContextStep step = step_of(task, blocks, 1.0 / task.ranks);
  step.rows *= task.ranks;
  work.steps.push_back(step);
  add_head_exchange(work, task, ContextGroup::All, task.ranks, most_queries(task));
  return work;
}

}  // namespace paceline::models

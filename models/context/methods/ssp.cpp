// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/context/method.hpp"

namespace paceline::models {

/// Sparse sequence parallelism of OSP-Next (abstract; skiparse_func.py): a rank holds whole
/// interleaved subsequences, so attention inside them needs no exchange; one all-to-all of the
/// tokens turns the pattern for the next block. With more ranks than subsequences the ranks of one
/// deal its heads as Ulysses does.
ContextWork plan_ssp(const ContextTask& task) {
  ContextWork work;
  const double ranks = task.ranks;
  const auto groups = static_cast<double>(std::max<std::int64_t>(1, task.mask.subsequences));
  const int sharing = static_cast<int>(std::max(1.0, ranks / groups));
  const Block whole = whole_of(task);
  const std::vector<Block> blocks(task.queries.size(), whole);
  ContextStep step = step_of(task, blocks, 1 / ranks);
  step.length = whole.length() / groups;
  work.steps.push_back(step);
  if (task.ranks == 1) return work;
  if (sharing > 1) add_head_exchange(work, task, ContextGroup::All, sharing, most_queries(task));
  work.after.push_back(
      {"turn pattern", CollectiveOp::AllToAll, ContextGroup::All, 0, 0, most_queries(task), 1});
  work.outputs += most_queries(task);
  return work;
}

}  // namespace paceline::models

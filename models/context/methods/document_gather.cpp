// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// A rank computes against all keys of its documents in one kernel; of the others' keys it gets
/// those its queries see. The exchange lasts as long as its busiest rank sends or receives. FlashCP
/// and HSAP (abstracts): no redundant transfer of keys and values.
ContextWork plan_document_gather(const ContextTask& task) {
  ContextWork work;
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < task.queries.size(); ++r) blocks.push_back(row_of(task, r));
  work.steps.push_back(step_of(task, blocks));
  add_needed_keys(work, task, ContextGroup::All, 1);
  return work;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {
namespace {

/// Tokens of the documents whose keys lie on more than one rank.
std::int64_t cut_tokens(const ContextTask& task) {
  std::vector<int> owner(task.lengths.size(), -1);
  std::vector<bool> cut(task.lengths.size(), false);
  std::vector<std::int64_t> tokens(task.lengths.size(), 0);
  for (std::size_t r = 0; r < task.keys.size(); ++r) {
    for (const Piece& piece : task.keys[r]) {
      const auto d = static_cast<std::size_t>(piece.document);
      if (owner[d] >= 0 && owner[d] != static_cast<int>(r)) cut[d] = true;
      owner[d] = static_cast<int>(r);
      tokens[d] += piece.count;
    }
  }
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < tokens.size(); ++d) sum += cut[d] ? tokens[d] : 0;
  return sum;
}

}  // namespace

/// FlashCP (abstract): no redundant transfer of keys and values. Documents that lie on one rank
/// stay there; the keys of those that were cut are gathered, their gradients scattered.
ContextWork plan_document_gather(const ContextTask& task) {
  ContextWork work;
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < task.queries.size(); ++r) blocks.push_back(row_of(task, r));
  work.steps.push_back(step_of(task, blocks));
  const auto keys = static_cast<double>(cut_tokens(task));
  if (keys == 0) return work;
  work.before.push_back({"gather KV", CollectiveOp::AllGather, ContextGroup::All, 0, keys, 0, 1});
  work.keys = keys;
  if (!task.backward) return work;
  work.after.push_back(
      {"reduce dKV", CollectiveOp::ReduceScatter, ContextGroup::All, 0, keys, 0, 1});
  work.keys += keys;
  return work;
}

}  // namespace paceline::models

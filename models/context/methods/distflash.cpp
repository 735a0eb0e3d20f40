// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {
namespace {

struct Helped {
  std::vector<Block> blocks;
  bool helps = false;  ///< some rank computes for another
};

/// Step t: rank p has its own queries against the keys of p - t, or, where there are none before
/// it, computes for rank p - t + n with its own keys.
Helped step_blocks(const ContextTask& task, int t) {
  const int n = task.ranks;
  Helped step;
  for (int p = 0; p < n; ++p) {
    const bool own = p >= t;
    // Of an even number of ranks half idle in the last step: their blocks are others' own.
    if (!own && 2 * t == n) {
      step.blocks.emplace_back();
      continue;
    }
    step.helps = step.helps || !own;
    const int q = own ? p : p - t + n, k = own ? p - t : p;
    step.blocks.push_back(block_of(task, static_cast<std::size_t>(q), static_cast<std::size_t>(k)));
  }
  return step;
}

ContextExchange message(std::string_view name, double queries, double keys, double outputs) {
  return {name, CollectiveOp::SendRecv, ContextGroup::All, queries, keys, outputs, 1};
}

/// What step t needs from elsewhere.
void fetch(std::vector<ContextExchange>& list, const ContextTask& task, bool helps) {
  list.push_back(message("fetch KV", 0, most_keys(task), 0));
  const double queries = most_queries(task);
  // Backward also the outputs and their gradients.
  if (helps) list.push_back(message("fetch Q", queries, 0, task.backward ? 2 * queries : 0));
}

/// What goes back where it belongs.
void give_back(std::vector<ContextExchange>& list, const ContextTask& task, bool helps) {
  const double queries = most_queries(task);
  if (task.backward) list.push_back(message("return dKV", 0, most_keys(task), 0));
  if (!helps) return;
  list.push_back(task.backward ? message("return dQ", queries, 0, 0)
                               : message("return O", 0, 0, queries));
}

}  // namespace

/// Li et al. 2023, "DISTFLASHATTN", section 3: floor(n / 2) + 1 steps in place of n. What a step
/// needs is fetched beside the one before, its results return beside the one after.
ContextWork plan_distflash(const ContextTask& task) {
  ContextWork work;
  const int last = task.ranks / 2;
  Helped now = step_blocks(task, 0);
  std::vector<ContextExchange> results;
  for (int t = 0; t <= last; ++t) {
    ContextStep step = step_of(task, now.blocks);
    step.merges = t > 0;
    step.beside = std::move(results);
    results.clear();
    if (t > 0) give_back(results, task, now.helps);
    if (t < last) {
      now = step_blocks(task, t + 1);
      fetch(step.beside, task, now.helps);
    }
    work.steps.push_back(std::move(step));
  }
  work.after = std::move(results);
  if (task.ranks == 1) return work;
  work.keys = most_keys(task) * (task.backward ? 4 : 2);
  work.queries = most_queries(task) * 2;
  work.outputs = most_queries(task) * (task.backward ? 4 : 2);
  return work;
}

}  // namespace paceline::models

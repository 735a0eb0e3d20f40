// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// Gu et al. 2024, "LoongTrain", section 4.3: while keys go round the inner ring, those for the
/// next round arrive from the neighbour in the outer one.
ContextWork plan_double_ring(const ContextTask& task) {
  ContextWork work;
  const int inner = task.inner, outer = task.ranks / inner;
  const double keys = most_keys(task);
  const auto rank = [&](int a, int b) {
    return static_cast<std::size_t>((a + outer) % outer * inner + (b + inner) % inner);
  };
  const auto send = [&](ContextStep& step, std::string_view name, ContextGroup group, int steps) {
    step.beside.push_back({name, CollectiveOp::SendRecv, group, 0, keys, 0, steps});
  };
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) {
      std::vector<Block> blocks;
      for (int r = 0; r < task.ranks; ++r)
        blocks.push_back(
            block_of(task, static_cast<std::size_t>(r), rank(r / inner - i, r % inner - j)));
      ContextStep step = step_of(task, blocks);
      step.merges = i + j > 0;
      if (j == 0 && i + 1 < outer) send(step, "send KV outer", ContextGroup::Outer, inner);
      if (j + 1 < inner) send(step, "send KV", ContextGroup::Inner, 1);
      // Gradients one step behind; after a round they go on to the next node beside its kernels.
      if (task.backward && j > 0) send(step, "send dKV", ContextGroup::Inner, 1);
      if (task.backward && j == 0 && i > 0)
        send(step, "send dKV outer", ContextGroup::Outer, inner);
      work.steps.push_back(std::move(step));
    }
  }
  if (task.ranks > 1) work.keys = keys * (task.backward ? 6 : 3);
  if (!task.backward) return work;
  if (inner > 1)
    work.after.push_back({"send dKV", CollectiveOp::SendRecv, ContextGroup::Inner, 0, keys, 0, 1});
  if (outer > 1)
    work.after.push_back(
        {"send dKV outer", CollectiveOp::SendRecv, ContextGroup::Outer, 0, keys, 0, 1});
  return work;
}

}  // namespace paceline::models

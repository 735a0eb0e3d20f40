// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

#include <algorithm>

namespace paceline::models {

#define PACELINE_CONTEXT(function, name, traits, summary) \
  ContextWork plan_##function(const ContextTask& task);
#include "models/context/methods.def"
#undef PACELINE_CONTEXT

namespace {
constexpr ContextMethod kMethods[] = {
#define PACELINE_CONTEXT(function, name, traits, summary) \
  {name, plan_##function, ContextTraits traits, summary},
#include "models/context/methods.def"
#undef PACELINE_CONTEXT
};
}  // namespace

std::span<const ContextMethod> context_methods() { return kMethods; }

const ContextMethod* context_method(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [&](const ContextMethod& m) { return m.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

ContextChoice default_context() { return {context_method("ring"), context_order("zigzag"), 1, 1}; }

int ContextChoice::head_ranks(int cp) const {
  if (!method->traits.heads) return 1;
  return method->traits.inner ? inner : cp;
}

void add_ring(ContextWork& work, const RingPart& part, bool backward) {
  const std::size_t steps = work.steps.size();
  for (std::size_t j = 0; j < steps; ++j) {
    ContextStep& step = work.steps[j];
    step.merges = j > 0;
    if (j + 1 < steps)
      step.beside.push_back({"send KV", CollectiveOp::SendRecv, part.group, 0, part.keys, 0, 1});
    if (backward && j > 0)
      step.beside.push_back({"send dKV", CollectiveOp::SendRecv, part.group, 0, part.keys, 0, 1});
  }
  if (steps < 2) return;
  if (backward)
    work.after.push_back({"send dKV", CollectiveOp::SendRecv, part.group, 0, part.keys, 0, 1});
  // One pair of blocks arrives while another is computed; gradients the same.
  work.keys += part.keys * (backward ? 4 : 2);
}

double key_copies(const ContextTask& task, int ranks) {
  return std::max(1.0, ranks / std::max(task.kv_heads, 1.0));
}

void add_head_exchange(ContextWork& work, const ContextTask& task, ContextGroup group, int ranks,
                       double tokens) {
  if (ranks == 1) return;
  const double keys = tokens * key_copies(task, ranks);
  const ContextExchange in{"scatter heads", CollectiveOp::AllToAll, group, tokens, keys, 0, 1};
  const ContextExchange out{"gather heads", CollectiveOp::AllToAll, group, 0, 0, tokens, 1};
  // Backward the gradient of the outputs comes in and those of queries, keys and values go out;
  // they themselves are kept as they were computed with.
  work.before.push_back(task.backward ? out : in);
  work.after.push_back(task.backward ? in : out);
  work.queries += tokens;
  work.keys += keys;
  work.outputs += tokens;
}

void add_needed_keys(ContextWork& work, const ContextTask& task, ContextGroup group,
                     double copies) {
  if (task.ranks == 1) return;
  std::int64_t received = 0, sent = 0;
  for (std::size_t r = 0; r < task.queries.size(); ++r) {
    received = std::max(received, needed_keys(task, r));
    sent = std::max(sent, sent_keys(task, r));
  }
  if (received == 0) return;
  // An all-to-all of S moves S (n - 1) / n of each rank.
  const double size =
      static_cast<double>(std::max(received, sent)) * copies * task.ranks / (task.ranks - 1);
  work.before.push_back({"fetch KV", CollectiveOp::AllToAll, group, 0, size, 0, 1});
  if (task.backward)
    work.after.push_back({"return dKV", CollectiveOp::AllToAll, group, 0, size, 0, 1});
  work.keys += static_cast<double>(received) * copies * (task.backward ? 2 : 1);
}

}  // namespace paceline::models

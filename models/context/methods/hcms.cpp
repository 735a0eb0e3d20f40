// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

namespace paceline::models {

/// HCMS (abstract): the heads of Ulysses in chunks, on two streams. The exchange of the next
/// chunk's queries, keys and values and that of the last chunk's outputs run beside the attention
/// of one.
ContextWork plan_hcms(const ContextTask& task) {
  const ContextMethod* ulysses = context_method("ulysses");
  ContextWork whole = ulysses->plan(task);
  if (task.chunks == 1 || whole.before.empty()) return whole;
  const auto part = [&](ContextExchange exchange) {
    exchange.queries /= task.chunks;
    exchange.keys /= task.chunks;
    exchange.outputs /= task.chunks;
    return exchange;
  };
  const ContextExchange in = part(whole.before.front()), out = part(whole.after.front());
  ContextStep step = whole.steps.front();
  step.heads /= task.chunks;
  ContextWork work;
  work.before.push_back(in);
  for (int c = 0; c < task.chunks; ++c) {
    step.beside.clear();
    if (c + 1 < task.chunks) step.beside.push_back(in);
    if (c > 0) step.beside.push_back(out);
    work.steps.push_back(step);
  }
  work.after.push_back(out);
  // Two chunks are in flight.
  work.queries = 2 * whole.queries / task.chunks;
  work.keys = 2 * whole.keys / task.chunks;
  work.outputs = 2 * whole.outputs / task.chunks;
  return work;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/inner_tasks.hpp"

#include <algorithm>

#include "models/cost/collnet.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/encoded.hpp"

namespace paceline::sim {
namespace {

using models::Op;

/// Pieces nothing of the list waits for.
std::vector<std::uint32_t> ends_of(const std::vector<InnerTask>& list) {
  std::vector<bool> waited(list.size(), false);
  for (const InnerTask& task : list) {
    for (const std::uint32_t d : task.deps) waited[d] = true;
  }
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (!waited[i]) ends.push_back(i);
  }
  return ends;
}

InnerTask piece_of(const CostContext& context, const Task& task, const Op& op) {
  InnerTask piece;
  piece.stream = task.stream;
  piece.seconds = task.seconds;
  if (task.stream == Stream::Compute) {
    piece.name = context.each_kernel ? op.name : "kernels";
    if (context.each_kernel) piece.kernel = std::make_shared<const Op>(op);
    return piece;
  }
  const models::CollectiveGroup& group = group_of(context, op);
  piece.name = op.name;
  piece.axis = op.axis;
  piece.part = exposed_part(task.stream);
  if (group.ranks <= 1) return piece;
  const models::CollectiveChoice choice = choice_of(context, op);
  if (choice.time.value <= 0) return piece;
  // A collective that is waited for in part is two pieces: each moves its share.
  const auto encoded = encoded_time(context, op);
  const double whole = encoded ? (encoded->encode + encoded->wire + encoded->decode).value
                               : choice.time.value * collective_factor(context, op);
  const double share = task.seconds / whole;
  piece.op = op.collective;
  piece.algorithm = choice.algorithm;
  piece.size = op.bytes * share;
  piece.fluid = task.seconds * (1 - choice.latency.value / choice.time.value);
  const double two_step = encoded ? encoded->sent.value * share : (op.across + op.inside) * share;
  piece.sent = two_step > 0 ? two_step
                            : models::bytes_sent(op.collective, choice.algorithm,
                                                 base::Bytes(piece.size), group)
                                  .value;
  return piece;
}

}  // namespace

std::vector<InnerTask> inner_tasks(const CostContext& context, const std::vector<Op>& ops) {
  const TaskGraph graph = inner_graph(context, ops);
  const Timeline timeline = run_reference(graph);
  std::vector<InnerTask> pieces;
  std::vector<std::uint32_t> piece_of_task(graph.tasks.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    std::vector<std::uint32_t> deps;
    for (const TaskId d : graph.dependencies(t)) deps.push_back(piece_of_task[d]);
    const bool joins = !context.each_kernel && task.stream == Stream::Compute && !pieces.empty() &&
                       pieces.back().stream == Stream::Compute && deps.size() == 1 &&
                       deps.front() == pieces.size() - 1;
    if (joins) {
      pieces.back().seconds += task.seconds;
      pieces.back().finish = timeline.finish[t];
    } else {
      pieces.push_back(piece_of(context, task, ops[task.origin]));
      pieces.back().start = timeline.start[t];
      pieces.back().finish = timeline.finish[t];
      pieces.back().deps = std::move(deps);
    }
    piece_of_task[t] = static_cast<std::uint32_t>(pieces.size() - 1);
  }
  return pieces;
}

void append_inner(std::vector<InnerTask>& list, const std::vector<InnerTask>& more, double offset) {
  const std::vector<std::uint32_t> ends = ends_of(list);
  const auto shift = static_cast<std::uint32_t>(list.size());
  for (InnerTask task : more) {
    for (std::uint32_t& d : task.deps) d += shift;
    if (task.deps.empty()) task.deps = ends;
    task.start += offset;
    task.finish += offset;
    list.push_back(std::move(task));
  }
}

}  // namespace paceline::sim

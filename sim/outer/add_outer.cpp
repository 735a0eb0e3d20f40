// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/add_outer.hpp"

#include <algorithm>

#include "sim/outer/outer.hpp"

namespace paceline::sim {
namespace {

/// Length of the backward of the last microbatch on the lane with most compute, while which its
/// gradients become ready.
double last_backward(const Prediction& p) {
  const auto lane = static_cast<std::uint32_t>(p.result.critical_lane);
  const std::vector<Action>& order = p.program.order[lane % p.program.order.size()];
  double begin = 0, end = 0;
  std::uint32_t last = 0;
  for (TaskId t = 0; t < p.graph.tasks.size(); ++t) {
    const Task& task = p.graph.tasks[t];
    if (task.lane != lane || task.stream != Stream::Compute || task.kind != TaskKind::Action ||
        task.origin >= order.size())
      continue;
    if (p.program.passes[order[task.origin].pass].direction != Direction::Up) continue;
    if (task.origin != last || end == 0) begin = p.timeline.start[t];
    last = task.origin;
    end = p.timeline.finish[t];
  }
  return end - begin;
}

}  // namespace

void add_outer(const models::Scenario& s, Prediction& p) {
  InnerStep step;
  step.seconds = p.result.step_time;
  step.layers = static_cast<int>(s.model.layers.size());
  step.parameters = static_cast<double>(models::total_parameters(s.model));
  step.ready_seconds = std::min(last_backward(p), step.seconds);
  OuterResult outer = simulate_outer(*s.outer, step);
  const double tokens = p.result.tokens_per_s * step.seconds * outer.workers;
  outer.tokens_per_s = tokens / outer.step_seconds;
  outer.data_parallel_tokens_per_s = tokens / simulate_data_parallel(*s.outer, step).step_seconds;
  if (s.run_tokens > 0) {
    p.result.run_seconds = s.run_tokens / outer.tokens_per_s;
    p.result.run_device_seconds = p.result.run_seconds * models::used_devices(s) * outer.workers;
  }
  p.result.outer = outer;
}

}  // namespace paceline::sim

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

/// The step of a worker on another kind of node, by itself.
double step_on(const models::Scenario& s, std::size_t group, double tokens) {
  models::Scenario alone = s;
  const models::NodeGroup& nodes = s.cluster.groups[group];
  alone.cluster.groups = {nodes};
  alone.cluster.fabric = {};
  alone.profiles = {s.profiles[group]};
  alone.tables = {s.tables[group]};
  alone.outer.reset();
  alone.jitter.reset();
  alone.prices.reset();
  const Result r = predict(alone).result;
  return tokens / r.tokens_per_s;
}

/// Workers on nodes of several kinds: how much slower each is than the first.
std::vector<double> slowness_by_place(const models::Scenario& s, double seconds, double tokens) {
  const models::Cluster& cluster = s.cluster;
  const int workers = s.outer->workers, devices = s.parallel.world_size();
  std::vector<double> by_group(cluster.groups.size(), 0.0), slowness;
  for (int w = 0; w < workers; ++w) {
    const auto group = static_cast<std::size_t>(cluster.place_of(w * devices).group);
    const auto last = static_cast<std::size_t>(cluster.place_of((w + 1) * devices - 1).group);
    if (last != group)
      throw base::Error(
          models::where(s, "outer"), "worker " + std::to_string(w) + " lies on nodes of two kinds",
          "node groups that workers of " + std::to_string(devices) + " devices divide");
    double& factor = by_group[group];
    if (factor == 0) factor = group == 0 ? 1 : step_on(s, group, tokens) / seconds;
    slowness.push_back(factor);
    if (!s.outer->slowness.empty())
      slowness.back() *= s.outer->slowness[static_cast<std::size_t>(w)];
  }
  return slowness;
}

}  // namespace

void add_outer(const models::Scenario& s, Prediction& p) {
  InnerStep step;
  step.seconds = p.result.step_time;
  step.layers = static_cast<int>(s.model.layers.size());
  step.parameters = static_cast<double>(models::total_parameters(s.model));
  step.hidden = static_cast<double>(s.model.hidden);
  step.devices = models::used_devices(s);
  const models::KernelModel kernels =
      models::kernel_model(s.cluster.groups.front().device, s.profiles.front(), s.stack,
                           s.attention, s.model, s.precision);
  step.kernels = &kernels;
  step.ready_seconds = std::min(last_backward(p), step.seconds);
  const double worker_tokens = p.result.tokens_per_s * step.seconds;
  models::OuterChoice choice = *s.outer;
  const bool placed = choice.bandwidth.value <= 0;
  if (placed && s.cluster.groups.size() > 1)
    choice.slowness = slowness_by_place(s, step.seconds, worker_tokens);
  const Wan wan = placed ? wan_of(s) : Wan{};
  OuterResult outer = simulate_outer(choice, step, placed ? &wan : nullptr);
  const OuterResult parallel = simulate_data_parallel(choice, step, placed ? &wan : nullptr);
  const double tokens = worker_tokens * outer.workers;
  outer.tokens_per_s = tokens * working_share(choice) / outer.step_seconds;
  outer.data_parallel_tokens_per_s = tokens / parallel.step_seconds;
  outer.data_parallel_step_seconds = parallel.step_seconds;
  outer.data_parallel_egress_bytes = parallel.egress_bytes;
  if (s.run_tokens > 0) {
    p.result.run_seconds = s.run_tokens / outer.tokens_per_s;
    p.result.run_device_seconds = p.result.run_seconds * models::used_devices(s) * outer.workers;
  }
  if (outer.codec_seconds > 0)
    p.result.assumptions.push_back(
        "every device of a worker encodes and decodes its share of what the worker exchanges");
  p.result.outer = outer;
}

}  // namespace paceline::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/checkpoint_cost.hpp"

#include <algorithm>

#include "models/cost/memory.hpp"

namespace paceline::sim {

using models::CheckpointMode;
using models::FailureSettings;
using models::Scenario;

double saved_bytes(const Scenario& s) {
  const models::StateBytes bytes = models::state_bytes(s);
  double parameters = 0;
  if (s.modules.empty()) parameters = static_cast<double>(models::total_parameters(s.model, true));
  for (const models::Module& module : s.modules)
    parameters += static_cast<double>(models::total_parameters(module.view->model, true));
  return parameters * (bytes.weight + bytes.optimizer);
}

double copy_seconds(const Scenario& s, double bytes) {
  double slowest = 0;
  const double share = bytes / models::used_devices(s);
  for (std::size_t g = 0; g < s.cluster.groups.size(); ++g) {
    const models::NodeGroup& group = s.cluster.groups[g];
    const auto& measured = s.profiles[g].to_host;
    const double rate = measured ? measured->rate.value : group.device.host_bandwidth.value;
    double seconds = share / rate;
    const double buffer = s.failures->buffer / group.devices_per_node;
    const double out = s.failures->storage / models::used_devices(s);
    if (buffer > 0 && rate > out) {
      const double full = buffer / (rate - out);  // the buffer fills while it is written
      if (full < seconds) seconds = full + (share - rate * full) / out;
    }
    slowest = std::max(slowest, seconds);
  }
  return slowest;
}

Checkpoints checkpoints_of(const Scenario& s, const Result& r, double mtbf) {
  const FailureSettings& f = *s.failures;
  const double bytes = saved_bytes(s), copied = copy_seconds(s, bytes);
  const double stored = f.mode == CheckpointMode::Memory ? 0 : bytes / f.storage;
  Checkpoints c;
  switch (f.mode) {
    case CheckpointMode::Blocking:
      c.blocking = std::max(stored, copied);
      break;
    case CheckpointMode::Background:
      c.blocking = copied;
      c.written = stored;
      break;
    case CheckpointMode::Lazy: {
      const double update = r.breakdown[static_cast<std::size_t>(Part::Optimizer)];
      c.blocking = std::max(0.0, copied - (r.step_time - update));
      c.written = std::max(copied, stored);
      break;
    }
    case CheckpointMode::Memory:
      c.blocking = copied;
      break;
  }
  if (f.every > 0) {
    c.every = std::max(f.every, r.step_time);
    c.blocking = std::max(c.blocking, c.written - c.every);  // buffers are full until then
    return c;
  }
  c.every = mtbf > 0 ? daly_interval(c.blocking, mtbf) : r.run_seconds;
  c.every = std::max({c.every, r.step_time, c.written});
  return c;
}

}  // namespace paceline::sim

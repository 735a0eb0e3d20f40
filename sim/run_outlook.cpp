// SPDX-License-Identifier: Apache-2.0
#include "sim/run_outlook.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "models/cost/memory.hpp"
#include "sim/outer/failures.hpp"

namespace paceline::sim {
namespace {

using models::CheckpointMode;
using models::FailureSettings;
using models::Scenario;

/// Until every device's share is in its host.
double to_hosts(const Scenario& s, double bytes) {
  double slowest = 0;
  const double share = bytes / models::used_devices(s);
  for (std::size_t g = 0; g < s.cluster.groups.size(); ++g) {
    const auto& measured = s.profiles[g].to_host;
    const double rate =
        measured ? measured->rate.value : s.cluster.groups[g].device.host_bandwidth.value;
    slowest = std::max(slowest, share / rate);
  }
  return slowest;
}

std::vector<FailureProcess> processes(const Scenario& s, const FailureSettings& f) {
  std::vector<FailureProcess> out;
  const auto add = [&](const char* name, double mtbf, double parts) {
    if (mtbf > 0) out.push_back({name, mtbf / parts, f.shape, f.detect, f.restart});
  };
  const double devices = models::used_devices(s);
  const double nodes = std::ceil(devices / s.cluster.groups.front().devices_per_node);
  add("device", f.device_mtbf, devices);
  add("node", f.node_mtbf, nodes);
  add("job", f.job_mtbf, 1);
  return out;
}

/// Times of independent processes: rates add up.
double joint_mtbf(const std::vector<FailureProcess>& failures) {
  double rate = 0;
  for (const FailureProcess& f : failures) rate += 1 / f.mtbf;
  return 1 / rate;
}

}  // namespace

double saved_bytes(const Scenario& s) {
  const models::StateBytes bytes = models::state_bytes(s);
  double parameters = 0;
  if (s.modules.empty()) parameters = static_cast<double>(models::total_parameters(s.model, true));
  for (const models::Module& module : s.modules)
    parameters += static_cast<double>(models::total_parameters(module.view->model, true));
  return parameters * (bytes.weight + bytes.optimizer);
}

void add_outlook(const Scenario& s, Result& r) {
  if (!s.failures) return;
  const FailureSettings& f = *s.failures;
  RunOutlook out;
  const double bytes = saved_bytes(s), copied = to_hosts(s, bytes);
  const double stored = f.mode == CheckpointMode::Memory ? 0 : bytes / f.storage;
  Checkpoints checkpoints;
  checkpoints.blocking = f.mode == CheckpointMode::Blocking ? std::max(stored, copied) : copied;
  checkpoints.written = f.mode == CheckpointMode::Background ? stored : 0;
  const std::vector<FailureProcess> failures = processes(s, f);
  out.mtbf = joint_mtbf(failures);
  checkpoints.every = f.every > 0 ? f.every : daly_interval(checkpoints.blocking, out.mtbf);
  checkpoints.every = std::max({checkpoints.every, r.step_time, checkpoints.written});
  out.checkpoint_bytes = bytes;
  out.every = checkpoints.every;
  out.blocking = checkpoints.blocking;
  out.goodput = expected_goodput(r.run_seconds, checkpoints, failures, f.runs, f.seed);
  out.run_seconds = r.run_seconds / out.goodput.value;
  if (r.money) out.run_money = r.money->run / out.goodput.value;
  out.runs = f.runs;
  r.outlook = out;
}

}  // namespace paceline::sim

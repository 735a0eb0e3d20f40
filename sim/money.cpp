// SPDX-License-Identifier: Apache-2.0
#include "sim/money.hpp"

#include <algorithm>

namespace paceline::sim {
namespace {

constexpr double kHour = 3600, kJoulesPerKwh = 3.6e6;

/// Devices of each node group that the job uses, as many times as there are workers.
std::vector<double> devices_used(const models::Scenario& s) {
  std::vector<double> used;
  std::int64_t left = models::used_devices(s);
  for (const models::NodeGroup& group : s.cluster.groups) {
    const std::int64_t devices = std::min<std::int64_t>(left, group.devices());
    used.push_back(static_cast<double>(devices) * (s.outer ? s.outer->workers : 1));
    left -= devices;
  }
  return used;
}

}  // namespace

void add_money(const models::Scenario& s, Result& r) {
  if (!s.prices) return;
  r.pue = s.prices->pue;
  r.carbon = s.prices->carbon;
  const double workers = s.outer ? s.outer->workers : 1;
  const double seconds = r.outer ? r.outer->step_seconds : r.step_time;
  models::Usage usage;
  usage.device_hours = devices_used(s);
  for (double& hours : usage.device_hours) hours *= seconds / kHour;
  if (r.energy) usage.kwh = r.energy->step.middle * workers / kJoulesPerKwh;
  if (r.outer) usage.sent_bytes = r.outer->egress_bytes;
  Money money;
  money.step = models::cost_of(*s.prices, usage);
  money.sources = s.prices->sources;
  const double tokens =
      static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence) * workers;
  money.billion_tokens = money.step.total() / tokens * 1e9;
  if (r.outer) {
    // The same energy: what devices draw while they wait is a small part of it.
    const double slower = r.outer->data_parallel_step_seconds / seconds;
    for (double& hours : usage.device_hours) hours *= slower;
    usage.sent_bytes = r.outer->data_parallel_egress_bytes;
    r.outer->data_parallel_billion_tokens =
        models::cost_of(*s.prices, usage).total() / tokens * 1e9;
  }
  if (s.run_tokens > 0) money.run = money.step.total() / tokens * s.run_tokens;
  if (money.step.parts.empty())
    r.warnings.push_back("nothing of this step has a price: prices.electricity, or a device_hour");
  r.money = std::move(money);
}

}  // namespace paceline::sim

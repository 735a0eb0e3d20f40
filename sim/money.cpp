// SPDX-License-Identifier: Apache-2.0
#include "sim/money.hpp"

#include <algorithm>

#include "sim/checkpoint_cost.hpp"

namespace paceline::sim {
namespace {

constexpr double kHour = 3600, kJoulesPerKwh = 3.6e6;

/// Devices of each node group that the job uses. Workers stand side by side on the cluster, or have
/// one each where `outer.bandwidth` joins them.
std::vector<double> devices_used(const models::Scenario& s) {
  const bool placed = s.outer && s.outer->bandwidth.value <= 0;
  const std::int64_t workers = s.outer ? s.outer->workers : 1;
  std::int64_t left = models::used_devices(s) * (placed ? workers : 1);
  std::vector<double> used;
  for (const models::NodeGroup& group : s.cluster.groups) {
    const std::int64_t devices = std::min<std::int64_t>(left, group.devices());
    used.push_back(static_cast<double>(devices * (placed ? 1 : workers)));
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
  if (s.prices->keeps > 0) {
    // Storage is paid for in the hours in which the run rests, too.
    const double hours = seconds / kHour * models::kHoursOfDay / s.prices->hours.length();
    usage.stored_byte_hours = s.prices->keeps * saved_bytes(s) * hours;
  }
  Money money;
  money.hours_a_day = s.prices->hours.length();
  money.step = models::cost_of(*s.prices, usage);
  money.sources = s.prices->sources;
  const double tokens = r.tokens_per_s * r.step_time * workers;
  money.billion_tokens = money.step.total() / tokens * 1e9;
  if (r.outer) {
    if (usage.kwh) usage.kwh = r.outer->data_parallel_joules * workers / kJoulesPerKwh;
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

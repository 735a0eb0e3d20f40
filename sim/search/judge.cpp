// SPDX-License-Identifier: Apache-2.0
#include "sim/search/judge.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "models/energy/power.hpp"
#include "sim/search/incumbents.hpp"

namespace paceline::sim {
namespace {

double run_steps(const models::Scenario& s) {
  const double tokens = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence);
  return s.run_tokens / tokens;
}

}  // namespace

Judge::Judge(const models::Scenario& s, const SearchOptions& options)
    : s_(s), options_(options), run_steps_(run_steps(s)) {
  const auto& limits = options.limits;
  const bool of_run = limits.run_seconds > 0 || limits.run_money > 0;
  if (of_run && s.run_tokens <= 0)
    throw base::Error(models::where(s, "run"), "a limit on the run needs its length",
                      "run: {tokens: 1e12}, or --set run.tokens=1e12");
  const bool money = limits.run_money > 0 || options.objective == Objective::Cost;
  if (money && !s.prices)
    throw base::Error(models::where(s, "run"), "the cost needs prices",
                      "run: {price: on-demand, provider: aws}, or prices: {device_hour: ...}");
  if (options.objective == Objective::Energy && !energy_known())
    throw base::Error(models::where(s, "cluster"), "the energy needs the devices' power",
                      "tdp in the device's spec");
}

double Judge::value_of(double seconds, int devices) const {
  switch (options_.objective) {
    case Objective::Time:
      return seconds;
    case Objective::Cost:
      return money_of(seconds, devices);
    case Objective::Energy:
      return seconds * devices * least_watts();
  }
  return 0;
}

double Judge::value_of(const Result& result) const {
  if (options_.objective == Objective::Time) return result.step_time;
  if (options_.objective == Objective::Cost) return result.money ? result.money->step.total() : 0;
  return result.energy ? result.energy->step.middle : 0;
}

bool Judge::beyond_run(double seconds, int devices) const {
  const SearchLimits& limits = options_.limits;
  return (limits.run_seconds > 0 && seconds * run_steps_ > limits.run_seconds) ||
         (limits.run_money > 0 && money_of(seconds, devices) * run_steps_ > limits.run_money);
}

bool Judge::beyond_run(const Result& result) const {
  const SearchLimits& limits = options_.limits;
  return (limits.run_seconds > 0 && result.step_time * run_steps_ > limits.run_seconds) ||
         (limits.run_money > 0 && result.money &&
          result.money->step.total() * run_steps_ > limits.run_money);
}

bool Judge::beyond_memory(const Result& result) const {
  return !result.fits() || beyond_memory(fullest_bytes(result));
}

Verdict Judge::verdict(const Result& result) const {
  if (beyond_memory(result)) return Verdict::BeyondMemory;
  return beyond_run(result) ? Verdict::BeyondRun : Verdict::Fits;
}

double Judge::memory_limit() const {
  double most = 0;
  for (const models::NodeGroup& g : s_.cluster.groups) most = std::max(most, g.device.memory.value);
  const double limit = options_.limits.memory_bytes;
  return limit > 0 ? std::min(limit, most) : kNearlyFull * most;
}

bool Judge::wants_energy() const {
  return options_.objective != Objective::Time || options_.limits.run_money > 0;
}

bool Judge::energy_known() const {
  return std::all_of(s_.cluster.groups.begin(), s_.cluster.groups.end(),
                     [](const models::NodeGroup& g) { return g.device.tdp.has_value(); });
}

/// Rent alone, of the cheapest device.
double Judge::money_of(double seconds, int devices) const {
  const std::vector<double>& rent = s_.prices->device_hour;
  const double least = rent.empty() ? 0 : *std::min_element(rent.begin(), rent.end());
  return seconds * devices * least / 3600;
}

/// Of a device that waits, with its share of the host.
double Judge::least_watts() const {
  double least = std::numeric_limits<double>::infinity();
  for (const models::NodeGroup& g : s_.cluster.groups)
    least = std::min(least, models::device_power(g.device, models::PowerClass::Idle).middle +
                                models::host_power(g).middle / g.devices_per_node);
  return least;
}

}  // namespace paceline::sim

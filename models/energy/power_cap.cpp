// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power_cap.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::models {
namespace {

constexpr double kLowestClock = 0.05;

double dynamic(double phi, double floor) {
  const double voltage = std::max(phi, floor);
  return phi * voltage * voltage;
}

/// At the highest clock, where dynamic() is 1, the power is that of the work.
double power_at(const ClockPower& device, double busy, double phi) {
  return device.still + (busy - device.still) * dynamic(phi, device.floor);
}

double corner(double memory, double clock) {
  return std::pow(std::pow(memory, 4) + std::pow(clock, 4), 0.25);
}

ClockPower of_tdp(double tdp) {
  return {kClockShares.still * tdp, kClockShares.floor, kClockShares.low * tdp};
}

}  // namespace

double power_at_clock(double tdp, double busy, double clock) {
  ClockPower device = of_tdp(tdp);
  device.still = std::min(device.still, busy);
  return power_at(device, busy, clock);
}

double highest_clock(const std::function<double(double clock)>& watts, double cap) {
  if (watts(1) <= cap) return 1;
  double low = kLowestClock, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (watts(middle) <= cap ? low : high) = middle;
  }
  return low;
}

Capped under_cap(const ClockPower& device, const CappedWork& work, base::Watts cap) {
  Capped result;
  result.clock =
      highest_clock([&](double clock) { return power_at(device, work.busy, clock); }, cap.value);
  const double k = work.clock_bound;
  const double stretch = corner(1 - k, k / result.clock) / corner(1 - k, k);
  const double host = work.host, busy = (1 - work.host) * stretch;
  result.seconds = work.seconds * (host + busy);
  result.watts =
      (host * device.low + busy * power_at(device, work.busy, result.clock)) / (host + busy);
  return result;
}

double busy_power(const ClockPower& device, double host, double watts) {
  return std::max((watts - host * device.low) / (1 - host), device.still);
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/units.hpp"

/// What a power cap does to a device's clock, to the time of its work and to the power it draws.
namespace paceline::models {

/// Busy power over the clock, with the clock as a share of the highest (phi):
///   P = still + D phi max(phi, floor)^2:
/// dynamic power is C V^2 f; the voltage follows the clock down to a floor, below which power falls
/// with the clock alone.
struct ClockPower {
  double still = 0;  ///< W, whatever the clock
  double floor = 0;  ///< clock share at which the voltage is as low as it gets
  double low = 0;    ///< W, mean power while the device waits for its host
};

/// Shares of the highest cap that 20 trainings on V100, A40, P100 and RTX 6000 have in common
/// (`paceline validate power`); nothing newer was measured. A test fits them again.
inline constexpr ClockPower kClockShares{0.276, 0.743, 0.162};

/// Power at a clock of kernels that draw `busy` W at the highest one, on a device of this TDP.
double power_at_clock(double tdp, double busy, double clock);
/// The highest clock at which `watts`, which grows with it, is at most the cap (by bisection); the
/// lowest, 5 %, where none is.
double highest_clock(const std::function<double(double clock)>& watts, double cap);

/// Work as it runs without a cap.
struct CappedWork {
  double seconds = 1;
  double busy = 0;         ///< W, while kernels run
  double clock_bound = 0;  ///< share of the busy time that follows the clock; the rest is memory
  double host = 0;         ///< share of the time in which the device waits for its host
};

struct Capped {
  double clock = 1;  ///< share of the highest
  double seconds = 0;
  double watts = 0;  ///< mean over the time
};

/// The clock is the highest at which busy power is within the cap (by bisection). Busy time grows
/// as [(1 - k)^4 + (k / phi)^4]^(1/4), a roofline with a rounded corner; the host's part stays. A
/// cap below the still power leaves the lowest clock, 5 %.
Capped under_cap(const ClockPower& device, const CappedWork& work, base::Watts cap);

/// Busy power that gives a mean of `watts` without a cap.
double busy_power(const ClockPower& device, double host, double watts);

}  // namespace paceline::models

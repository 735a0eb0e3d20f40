// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/config.hpp"
#include "models/hardware/device.hpp"

/// How fast devices may clock and what they may draw, `power` of the scenario.
namespace paceline::models {

struct PowerChoice {
  std::optional<base::Watts> cap;  ///< of every device; nothing: its TDP
  double clock = 1;                ///< share of the highest, of every device
  bool slack = false;              ///< whether to say what waits could run slower
};

/// Caps below this share of the TDP are refused: no measurement says what happens there.
inline constexpr double kLeastPowerCap = 0.5;

///   power: {cap: 450 W}      or  power: {clock: 0.8}      or  power: {slack: true}
/// base::Error for a cap on devices whose TDP is not known, above all TDPs or below half of one, a
/// clock outside [0.3, 1], and cap and clock together.
PowerChoice read_power(base::Fields fields, const Cluster& cluster);

}  // namespace paceline::models

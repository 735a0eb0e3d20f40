// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power.hpp"

#include "base/error.hpp"
#include "models/energy/power_cap.hpp"

namespace paceline::models {

std::string_view to_text(PowerClass power) {
  constexpr std::array<std::string_view, kPowerClasses> kNames{"matrix", "memory", "communication",
                                                               "idle"};
  return kNames[static_cast<std::size_t>(power)];
}

PowerRange device_power(const Device& device, PowerClass power) {
  PACELINE_CHECK(device.tdp.has_value());
  if (power == PowerClass::Idle && device.idle)
    return {device.idle->value, device.idle->value, device.idle->value};
  const PowerRange& share = kPowerShares[static_cast<std::size_t>(power)];
  const double tdp = device.tdp->value;
  const auto watts = [&](double part) {
    return power == PowerClass::Idle ? part * tdp : power_at_clock(tdp, part * tdp, device.clock);
  };
  return {watts(share.low), watts(share.middle), watts(share.high)};
}

PowerRange host_power(const NodeGroup& node) {
  const double eighths = node.devices_per_node / 8.0;
  return {kHostWatts.low * eighths, kHostWatts.middle * eighths, kHostWatts.high * eighths};
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

#include "models/hardware/device.hpp"

/// Power of a device by what it does. Public meter readings of whole nodes cannot tell the classes
/// apart (only their sum over a workload), so they ship as ranges: every energy has a band.
namespace paceline::models {

enum class PowerClass : std::uint8_t { Matrix, Memory, Communication, Idle };
inline constexpr int kPowerClasses = 4;
std::string_view to_text(PowerClass power);

struct PowerRange {
  double low, middle, high;
};

/// Shares of the TDP. Matrix products run into the power limit (MLPerf training, nodes of H100 and
/// B200: the devices' mean is 0.7 to 1 of the TDP whatever the host is taken for); kernels bound by
/// memory, transfers and waiting draw less, by ranges that readings of A100, H100 and B200 nodes
/// leave open.
constexpr std::array<PowerRange, kPowerClasses> kPowerShares{
    {{0.85, 0.925, 1.0}, {0.45, 0.65, 0.85}, {0.25, 0.425, 0.60}, {0.08, 0.14, 0.20}}};

/// Processors, memory, network cards and fans of a node of eight devices, W.
constexpr PowerRange kHostWatts{1500, 2250, 3000};

/// Watts of a device in a class at its clock (power_cap.hpp); the idle power of its data sheet
/// takes the place of the range.
PowerRange device_power(const Device& device, PowerClass power);

/// Of the rest of a node, in proportion to its devices.
PowerRange host_power(const NodeGroup& node);

}  // namespace paceline::models

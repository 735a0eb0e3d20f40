// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "models/hardware/device.hpp"
#include "models/money/tariff.hpp"

/// What one scenario pays.
namespace paceline::models {

/// Each number with where it comes from; nothing: not known, and what needs it is not said.
struct Prices {
  std::string kind;  ///< on-demand, reserved, spot, or owned: electricity instead of rent
  std::string provider, region;
  std::vector<double> device_hour;    ///< USD, by node group of the cluster; empty: owned
  std::optional<double> electricity;  ///< USD per kWh, mean of the hours in which the run works
  std::optional<double> egress;       ///< USD per GB between workers or sites
  std::optional<double> carbon;       ///< kg of CO2 equivalent per kWh
  std::optional<double> storage;      ///< USD per GB and month
  double keeps = 0;                   ///< checkpoints that lie in it while the run goes on
  WorkingHours hours;                 ///< in which the run works
  double pue = 1;
  std::vector<std::string> sources;  ///< "pue 1.15: AWS global mean of 2023"
};

/// From `run: {price, provider, region}` and `prices`, which comes first where both speak:
///   prices: {device_hour: 2 USD/h, electricity: 0.1 USD/kWh, egress: 0.02 USD/GB, carbon:
///   0.4 kg/kWh, pue: 1.2, storage: 0.02 USD/GB-month}
/// `run.hours` (tariff.hpp) are those in which the run works: electricity costs their mean.
/// `run.checkpoints` lie in storage.
/// Nothing where the scenario says neither, or a kind of price and nobody's; `notes` then says so.
/// base::Error for a provider without a price of a device, an unknown kind, provider or region.
std::optional<Prices> read_prices(base::Fields* run, base::Fields* prices, const Cluster& cluster,
                                  std::vector<std::string>& notes);

/// USD, in parts that add up.
struct Cost {
  std::vector<std::pair<std::string, double>> parts;
  double total() const;
};

/// What is used: device-hours by node group, energy of devices and hosts before the building's
/// share, bytes that leave.
struct Usage {
  std::vector<double> device_hours;
  std::optional<double> kwh;
  double sent_bytes = 0;
  double stored_byte_hours = 0;
};
Cost cost_of(const Prices& prices, const Usage& usage);

}  // namespace paceline::models

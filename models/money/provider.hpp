// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "models/hardware/link.hpp"

/// What it costs to rent devices and to run them: models/specs/provider/NAME.yaml.
namespace paceline::models {

/// One device for an hour, in USD. Spot devices can be taken away.
struct DevicePrice {
  std::string device;
  std::optional<double> on_demand, reserved, spot;
};

/// Where the machines stand.
struct Region {
  std::string name, place;
  std::optional<double> carbon;       ///< kg of CO2 equivalent per kWh
  std::optional<double> electricity;  ///< USD per kWh
};

/// USD per GB that leaves: over the internet, to another region near by and at most, within a
/// region between zones.
struct Egress {
  std::optional<double> internet, region, far, zone;
};

struct Provider {
  std::string name, source, summary, note;
  std::vector<DevicePrice> devices;
  std::vector<Region> regions;
  Egress egress;
  std::optional<double> storage;  ///< USD per GB and month
  std::optional<double> pue;      ///< energy of the building over energy of the machines
  std::vector<Fact> facts;        ///< every number with its source, in file order
};

/// Error with the nearest valid names for an unknown one; `where` begins the message.
Provider read_provider(const std::string& name, const std::string& where = "");
Provider read_provider(const base::Document& document, const std::string& name);
const DevicePrice* find_price(const Provider& provider, const std::string& device);
/// base::Error with the nearest names for a region the provider does not have.
const Region& find_region(const Provider& provider, const std::string& name,
                          const std::string& where);
std::string describe(const Provider& provider);

/// "2.5 USD/h" with exactly this unit; a bare number, another unit or a negative one is an Error.
double parse_price(std::string_view text, std::string_view unit, const std::string& where);
/// The same of a key.
double price(base::Fields& fields, std::string_view key, std::string_view unit);

}  // namespace paceline::models

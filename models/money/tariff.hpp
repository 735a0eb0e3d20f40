// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/config.hpp"

/// Electricity that costs more at some hours than at others.
namespace paceline::models {

inline constexpr double kHoursOfDay = 24;

/// A price from one hour of the day to another, the second not included; over midnight where the
/// first is the later one.
struct Tariff {
  double from = 0, to = kHoursOfDay;
  double price = 0;  ///< USD per kWh
};

/// Hours of the day in which the run works, every day.
struct WorkingHours {
  double from = 0, to = kHoursOfDay;
  /// Up to 24.
  double length() const;
};

/// `electricity: 0.1 USD/kWh`, or a list that covers the day once:
///   electricity: [{hours: [22, 6], price: 0.07 USD/kWh}, {hours: [6, 22], price: 0.14 USD/kWh}]
/// base::Error for hours that no entry has, or two.
std::vector<Tariff> read_tariffs(base::Fields& prices);

/// `hours: [22, 6]`.
WorkingHours read_working_hours(base::Fields& run);

/// Mean price of those hours, each weighing the same.
double mean_price(const std::vector<Tariff>& tariffs, const WorkingHours& hours);

}  // namespace paceline::models

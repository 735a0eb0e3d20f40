// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/energy/power_cap.hpp"

/// The law of power caps against a public sweep (scenarios/published/power/limits.csv: ml-energy/
/// zeus, traces of "Zeus", NSDI 2023: time and mean power of six trainings under caps on four
/// GPUs).
namespace paceline::calibrate {

struct PowerRow {
  double cap = 0, seconds = 0, watts = 0;
};
/// One training on one GPU, caps ascending.
struct PowerSeries {
  std::string gpu, work;
  std::vector<PowerRow> rows;
};
std::vector<PowerSeries> read_power_limits(const std::string& csv_file);

/// Caps below this share of a GPU's highest are fitted and predicted by nobody: voltage and clock
/// tables end, and some devices draw more than such a cap.
inline constexpr double kLeastCap = 0.5;
/// Work that draws less than this share of the highest cap never feels one.
inline constexpr double kFeelsCap = 0.45;

/// A fit of the law to the series of one GPU, or to all GPUs in shares of their highest cap.
struct PowerFit {
  models::ClockPower device;
  std::vector<models::CappedWork> works;  ///< by series
};
PowerFit fit_power(const std::vector<PowerSeries>& series);

/// Constants that all works on all GPUs share, powers in shares of the highest cap.
struct CommonPower {
  models::ClockPower device;
  double clock_bound = 0, host = 0;
};
CommonPower common_power(const std::vector<PowerSeries>& all);

/// One row of the sweep and what the law says to it.
struct PowerPoint {
  std::string gpu, work;
  PowerRow measured;
  PowerRow fitted;  ///< constants of this GPU and its works, fitted on these very rows
  /// Constants fitted on the other GPUs, as shares of their highest cap; of the work only its row
  /// under the highest cap is known. That row itself: as measured.
  PowerRow another;
  bool known = false;  ///< the row under the highest cap
};
/// Every row under a cap that counts, of works that feel caps.
std::vector<PowerPoint> predict_power_limits(const std::vector<PowerSeries>& all);

}  // namespace paceline::calibrate

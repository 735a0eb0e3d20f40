// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/set.hpp"
#include "reports/statistics.hpp"

/// Measured sets against predictions: figures, verdicts, table, JSON and picture.
namespace paceline::reports {

/// What a model says about one row. Quantities it does not know stay out of `values`.
struct RowPrediction {
  std::map<std::string, double> values;  ///< by quantity: step_time_s, memory_GB, fits, ...
  double model_flops = 0;                ///< per step, for the flat-MFU baseline; 0: none
  double peak_flops_per_s = 0;           ///< of all devices together
  std::string failure;                   ///< why there is no prediction; empty: there is one
};
using Predictor = std::function<RowPrediction(const models::SetRow&)>;

/// One quantity of one set.
struct Suite {
  std::string name;  ///< "<set>.<quantity>"
  std::string title, source;
  models::SetQuantity quantity;
  ErrorFigures kept, all;                ///< without and with the excluded rows
  std::optional<double> flat_error;      ///< mean error of the flat-MFU baseline, kept rows
  std::optional<double> flat_error_all;  ///< and all rows
  std::vector<Choice> choices;
  std::vector<models::Exclusion> exclusions;  ///< that take rows of this quantity, with their count
  struct Case {
    Compared value;
    std::optional<double> error;
    std::optional<double> flat_error;
    std::string why;  ///< rules that exclude it, or why there is no prediction
  };
  std::vector<Case> cases;  ///< in table order

  bool has_bound() const;
  /// Within every stated bound, and every row that counts has a prediction. True without bounds.
  bool passed() const;
  /// Within every stated goal.
  bool goal_met() const;
};

/// Runs the predictor over every row once and builds one suite per quantity. A base::Error of the
/// predictor passes through: a set that does not read is a defect of the set.
std::vector<Suite> validate_set(const models::MeasuredSet& set, const Predictor& predict);

/// The share of groups whose predicted best is within this of the measured best is reported.
inline constexpr double kGoodChoice = 0.03;

/// One line a suite, and below it what is excluded, missed or better predicted by a flat MFU.
std::string validation_table(const std::vector<Suite>& suites);
/// Every row of every suite: measured, predicted, error.
std::string validation_rows(const std::vector<Suite>& suites);
/// The document of `validate --json`. `command` is the normalised command line.
std::string validation_json(const std::vector<Suite>& suites, const std::string& command);
/// Predicted against measured step times on logarithmic axes, and the errors of every suite beside
/// it, as one SVG document.
std::string validation_plot(const std::vector<Suite>& suites);

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/scenario/set.hpp"

/// How far predictions are off, as plain arithmetic over pairs of numbers.
namespace paceline::reports {

/// One measured value and its prediction.
struct Compared {
  std::string id;
  double measured = 0;
  std::optional<double> predicted;  ///< nothing: the model gave no answer
  double scale = 1;                 ///< Absolute: the unit errors are counted in
  std::string group;                ///< equal for alternatives of each other; empty: none
  bool excluded = false;
};

/// Errors of a set of rows, as fractions (0.02 = 2 %) or in the quantity's unit (Absolute). All
/// over the rows that have a prediction.
struct ErrorFigures {
  int rows = 0;         ///< compared
  int unpredicted = 0;  ///< left out because the model gave no answer
  double mean = 0;      ///< of the absolute errors; Fraction: share of wrong labels
  double worst = 0;     ///< signed error of the row with the largest absolute one
  std::string worst_id;
  double bias = 0;                    ///< mean of the signed errors
  double false_positives = 0;         ///< Fraction: share of rows predicted 1, measured 0
  std::optional<double> kendall_tau;  ///< nothing for fewer than two rows or when all are equal
};

/// Signed error of one row; Fraction: predicted label - measured label (either side of 0.5).
/// Relative and Log need a positive measured value, Log also a positive prediction: otherwise NaN
/// never leaves, the result is nothing.
std::optional<double> row_error(models::ErrorMetric metric, double measured, double predicted,
                                double scale = 1);

/// Over the rows that are not excluded, or over all of them.
ErrorFigures error_figures(std::span<const Compared> rows, models::ErrorMetric metric,
                           bool with_excluded = false);

/// Kendall's tau-b: concordant minus discordant pairs, corrected for ties (Kendall 1945). Nothing
/// when one side has no two different values.
std::optional<double> kendall_tau_b(std::span<const double> a, std::span<const double> b);

/// What choosing by prediction costs, within one group of alternatives.
struct Choice {
  std::string group;
  int rows = 0;
  std::string chosen;  ///< id of the row predicted best (smallest); ties: the first
  std::string best;    ///< id of the row measured best
  double regret = 0;   ///< measured(chosen) / measured(best) - 1
};
/// One entry per group of at least two rows, in order of appearance; excluded rows and rows without
/// a prediction do not take part.
std::vector<Choice> best_choices(std::span<const Compared> rows);

/// One row of the flat-MFU baseline: the FLOPs of the model and the peak of all its devices.
struct FlatRow {
  double measured_s = 0;
  double model_flops = 0;
  double peak_flops_per_s = 0;
  bool excluded = false;
};
/// The MFU every row is given: the median of the measured ones over the rows that are not excluded.
/// Nothing when no row has FLOPs.
std::optional<double> flat_mfu(std::span<const FlatRow> rows);
/// Step time at that MFU.
double flat_time(const FlatRow& row, double mfu);

}  // namespace paceline::reports

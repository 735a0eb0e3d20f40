// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "models/cost/curve.hpp"

/// Least squares that a few wrong measurements do not move: Huber's loss by iteratively reweighted
/// least squares (Huber, Robust Statistics, 1981, chapters 6 and 7), residuals relative.
namespace paceline::calibrate {

/// The middle of some numbers, 0 of none.
double median(std::vector<double> values);
/// The value that a share of the numbers does not exceed, linear between them; 0 of none.
double quantile(std::vector<double> values, double share);

/// exp(|ln(predicted / measured)|) - 1: half and double are both 100 %.
double symmetric_error(double predicted, double measured);

/// Beyond so many robust standard deviations a residual counts as an outlier.
inline constexpr double kOutlier = 4;

/// Standard deviation of the bulk of some residuals, from their median absolute value; at least
/// `least`.
double robust_scale(const std::vector<double>& residuals, double least = 0.01);

/// What is known of a parameter beforehand; an infinite sigma: nothing.
struct Prior {
  double mean = 0;
  double sigma = std::numeric_limits<double>::infinity();
};

struct Fit {
  std::vector<double> parameters;
  std::vector<double> residuals;  ///< at the end, by measurement
  double scale = 0;               ///< robust_scale of them
};

/// Minimises Huber's loss of `residuals(parameters)` and the priors, from `start`: Levenberg and
/// Marquardt's steps on numerical derivatives. Deterministic; as many residuals for all parameters.
Fit fit_robust(std::vector<double> start, const std::vector<Prior>& priors,
               const std::function<std::vector<double>(const std::vector<double>&)>& residuals);

/// y = latency + slope x, both at least 0, with the least relative errors.
struct Line {
  double latency = 0, slope = 0;
  double at(double x) const { return latency + slope * x; }
};
/// At least one point; all x and y above 0.
Line fit_line(std::span<const models::CurvePoint> points);

/// A line for each range of sizes; the ranges share no point.
struct Regime {
  std::size_t begin = 0, end = 0;  ///< points [begin, end)
  Line line;
};
/// The fewest ranges, at most `most`, after which another one gains little: points sorted by x,
/// at least three in a range (all in one where there are fewer than six).
std::vector<Regime> fit_regimes(std::span<const models::CurvePoint> points, std::size_t most = 4);

/// Points that lie far from what their neighbours say (interpolated in logarithms), the worst first
/// and at most a quarter of all; the ends by the slope of the two beside them. By index, ascending.
std::vector<std::size_t> curve_outliers(std::span<const models::CurvePoint> points);

}  // namespace paceline::calibrate

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

/// How well a fitted curve says what it was fitted to, and what it was not.
namespace paceline::calibrate {

/// One measurement and what the fit says to it, in seconds.
struct Judged {
  double measured = 0, predicted = 0;
  std::optional<double> held_out;  ///< of a fit without this measurement
  std::string label;
};

/// Errors are symmetric (robust.hpp).
struct CurveReport {
  std::string name;  ///< "gemm fp32", "rmsnorm forward bf16"
  std::string law;   ///< its constants, in words
  int samples = 0, outliers = 0;
  double median = 0, p90 = 0, worst = 0;
  std::string worst_label;
  std::optional<double> held_median, held_p90;
  double bound = 0;  ///< on the median; a quarter of the samples may be outliers
  std::vector<double> held_errors;
  bool passed() const { return median <= bound && 4 * outliers <= samples; }
};

// Bounds on the median error of a fit on its own samples.
inline constexpr double kGemmBound = 0.15, kAttentionBound = 0.2, kCurveBound = 0.1,
                        kLineBound = 0.15, kCollectiveBound = 0.15;
/// An error above this counts as an outlier of a curve: the law does not hold there, or the
/// measurement was disturbed.
inline constexpr double kOutlierError = 0.5;

CurveReport judge(std::string name, std::string law, double bound, std::span<const Judged> rows);

/// A line for each curve, then what is refused and why.
std::string report_table(const std::vector<CurveReport>& reports);

}  // namespace paceline::calibrate

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "calibrate/report.hpp"
#include "models/cost/curve.hpp"

namespace paceline::calibrate {

/// A measurement on a curve: size and seconds.
struct CurveSample {
  models::CurvePoint point;
  std::string label;
};

/// The points a monotone curve goes through, one per size, growing: the median of repeated sizes,
/// then without outliers.
struct CurveFit {
  std::vector<models::CurvePoint> points;
  models::MonotoneCurve curve;
  CurveReport report;
};
/// At least one sample. Held out: every size inside from the others.
CurveFit fit_curve(const std::string& name, double bound, std::vector<CurveSample> samples);

}  // namespace paceline::calibrate

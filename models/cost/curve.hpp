// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

namespace paceline::models {

/// One measured point; both above 0.
struct CurvePoint {
  double x = 0;
  double y = 0;
};

/// Non-decreasing curve through measured points, smooth in ln x and ln y: least-squares isotonic
/// regression, then monotone cubic interpolation (Fritsch and Carlson, SIAM J. Numer. Anal. 17,
/// 1980, with the weighted harmonic mean of the slopes).
class MonotoneCurve {
 public:
  MonotoneCurve() = default;
  /// Points in any order; those of the same x count with their geometric mean. A point more than
  /// 15 % above a later one is taken for a warm-up spike and lowered to it before the regression.
  /// base::Error when a coordinate is not positive and finite, or there is no point at all.
  explicit MonotoneCurve(std::span<const CurvePoint> points);

  bool empty() const { return ln_x_.empty(); }
  double low() const;   ///< smallest x
  double high() const;  ///< largest x
  /// y at x; outside [low, high] the end value.
  double at(double x) const;

 private:
  void set_slopes();
  std::vector<double> ln_x_, ln_y_, slope_;
};

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/curve_fit.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {
namespace {

std::vector<models::CurvePoint> medians(const std::vector<CurveSample>& samples) {
  std::map<double, std::vector<double>> by_size;
  for (const CurveSample& s : samples) by_size[s.point.x].push_back(s.point.y);
  std::vector<models::CurvePoint> points;
  for (const auto& [size, seconds] : by_size) points.push_back({size, median(seconds)});
  return points;
}

}  // namespace

CurveFit fit_curve(const std::string& name, double bound, std::vector<CurveSample> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const CurveSample& a, const CurveSample& b) {
    return a.point.x < b.point.x;
  });
  CurveFit fit;
  fit.points = medians(samples);
  const std::vector<std::size_t> outliers = curve_outliers(fit.points);
  for (std::size_t i = outliers.size(); i-- > 0;)
    fit.points.erase(fit.points.begin() + static_cast<std::ptrdiff_t>(outliers[i]));
  fit.curve = models::MonotoneCurve(fit.points);
  std::map<double, double> held;  // by size
  for (std::size_t i = 1; i + 1 < fit.points.size(); ++i) {
    std::vector<models::CurvePoint> others = fit.points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    held[fit.points[i].x] = models::MonotoneCurve(others).at(fit.points[i].x);
  }
  std::vector<Judged> rows;
  for (const CurveSample& s : samples) {
    Judged row{s.point.y, fit.curve.at(s.point.x), {}, s.label};
    if (const auto found = held.find(s.point.x); found != held.end()) row.held_out = found->second;
    rows.push_back(row);
  }
  const auto seconds_at = [&](double size) {
    return base::format_seconds(base::Seconds(fit.curve.at(size)));
  };
  const std::string law = fit.points.size() == 1 ? "1 point, " + seconds_at(fit.curve.low())
                                                 : std::to_string(fit.points.size()) + " points, " +
                                                       seconds_at(fit.curve.low()) + " to " +
                                                       seconds_at(fit.curve.high());
  fit.report = judge(name, law, bound, rows);
  return fit;
}

}  // namespace paceline::calibrate

// SPDX-License-Identifier: Apache-2.0
#include "models/cost/curve.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace paceline::models {
namespace {

struct Knot {
  double x = 0, y = 0, weight = 1;
};

/// Logarithms of the points, sorted, one per x.
std::vector<Knot> logarithms(std::span<const CurvePoint> points) {
  std::vector<Knot> knots;
  for (const CurvePoint& p : points) {
    if (!(p.x > 0) || !(p.y > 0) || !std::isfinite(p.x) || !std::isfinite(p.y))
      throw base::Error("a measured curve needs positive, finite numbers");
    knots.push_back({std::log(p.x), std::log(p.y), 1});
  }
  if (knots.empty()) throw base::Error("a measured curve needs at least one point");
  // By value too, so that the mean of repeated points does not depend on their order.
  std::sort(knots.begin(), knots.end(),
            [](const Knot& a, const Knot& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Knot> merged;
  for (const Knot& k : knots) {
    if (merged.empty() || merged.back().x != k.x) {
      merged.push_back(k);
      continue;
    }
    Knot& m = merged.back();
    m.y = (m.y * m.weight + k.y) / (m.weight + 1);
    m.weight += 1;
  }
  return merged;
}

void remove_spikes(std::vector<Knot>& knots) {
  const double allowed = std::log(1.15);
  double later = knots.back().y;
  for (std::size_t i = knots.size(); i-- > 0;) {
    if (knots[i].y > later + allowed) knots[i].y = later;
    later = std::min(later, knots[i].y);
  }
}

/// Pool adjacent violators: the closest non-decreasing sequence in the least-squares sense.
void make_monotone(std::vector<Knot>& knots) {
  struct Pool {
    double y, weight;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const Knot& k : knots) {
    pools.push_back({k.y, k.weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].y > pools.back().y) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& p = pools.back();
      p.y = (p.y * p.weight + last.y * last.weight) / (p.weight + last.weight);
      p.weight += last.weight;
      p.count += last.count;
    }
  }
  std::size_t i = 0;
  for (const Pool& p : pools)
    for (std::size_t n = 0; n < p.count; ++n) knots[i++].y = p.y;
}

/// Slope at an end from the two nearest secants, kept monotone.
double end_slope(double width0, double width1, double secant0, double secant1) {
  const double slope = ((2 * width0 + width1) * secant0 - width0 * secant1) / (width0 + width1);
  return std::clamp(slope, 0.0, 3 * secant0);
}

}  // namespace

MonotoneCurve::MonotoneCurve(std::span<const CurvePoint> points) {
  std::vector<Knot> knots = logarithms(points);
  remove_spikes(knots);
  make_monotone(knots);
  for (const Knot& k : knots) {
    ln_x_.push_back(k.x);
    ln_y_.push_back(k.y);
  }
  set_slopes();
}

void MonotoneCurve::set_slopes() {
  const std::size_t n = ln_x_.size();
  slope_.assign(n, 0.0);
  if (n < 2) return;
  std::vector<double> width(n - 1), secant(n - 1);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    width[i] = ln_x_[i + 1] - ln_x_[i];
    secant[i] = (ln_y_[i + 1] - ln_y_[i]) / width[i];
  }
  for (std::size_t i = 1; i + 1 < n; ++i) {
    if (secant[i - 1] <= 0 || secant[i] <= 0) continue;
    const double a = 2 * width[i] + width[i - 1], b = width[i] + 2 * width[i - 1];
    slope_[i] = (a + b) / (a / secant[i - 1] + b / secant[i]);
  }
  if (n == 2) {
    slope_[0] = slope_[1] = secant[0];
    return;
  }
  slope_[0] = end_slope(width[0], width[1], secant[0], secant[1]);
  slope_[n - 1] = end_slope(width[n - 2], width[n - 3], secant[n - 2], secant[n - 3]);
}

double MonotoneCurve::low() const { return std::exp(ln_x_.front()); }
double MonotoneCurve::high() const { return std::exp(ln_x_.back()); }

double MonotoneCurve::at(double x) const {
  const double ln = std::log(x);
  if (!(ln > ln_x_.front())) return std::exp(ln_y_.front());
  if (ln >= ln_x_.back()) return std::exp(ln_y_.back());
  const auto above = std::upper_bound(ln_x_.begin(), ln_x_.end(), ln) - ln_x_.begin();
  const auto i = static_cast<std::size_t>(above) - 1;
  const double width = ln_x_[i + 1] - ln_x_[i], t = (ln - ln_x_[i]) / width;
  const double rise = ln_y_[i + 1] - ln_y_[i];
  const double m0 = slope_[i] * width, m1 = slope_[i + 1] * width;
  // Cubic Hermite form about the left knot.
  return std::exp(ln_y_[i] + t * (m0 + t * (3 * rise - 2 * m0 - m1 + t * (m0 + m1 - 2 * rise))));
}

}  // namespace paceline::models

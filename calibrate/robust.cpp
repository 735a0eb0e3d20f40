// SPDX-License-Identifier: Apache-2.0
#include "calibrate/robust.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace paceline::calibrate {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kHuber = 1.345;    // 95 % as efficient as least squares on normal residuals
constexpr double kNormal = 1.4826;  // standard deviation over median absolute deviation

double weight(double residual, double scale) {
  const double size = std::abs(residual) / scale;
  return size <= kHuber ? 1 : kHuber / size;
}

double loss(const std::vector<double>& residuals, double scale) {
  double sum = 0;
  for (const double r : residuals) {
    const double size = std::abs(r) / scale;
    sum += size <= kHuber ? 0.5 * size * size : kHuber * (size - 0.5 * kHuber);
  }
  return sum;
}

double prior_loss(const std::vector<double>& parameters, const std::vector<Prior>& priors) {
  double sum = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double away = (parameters[p] - priors[p].mean) / priors[p].sigma;
    sum += 0.5 * away * away;
  }
  return sum;
}

/// Normal equations of the weighted residuals and the priors at one place.
struct Normal {
  MatrixXd matrix;
  VectorXd right;
};

template <class Residuals>
Normal normal_equations(const std::vector<double>& at, const std::vector<double>& values,
                        double scale, const std::vector<Prior>& priors,
                        const Residuals& residuals) {
  const auto n = static_cast<Eigen::Index>(at.size());
  const auto rows = static_cast<Eigen::Index>(values.size());
  MatrixXd slopes(rows, n);
  for (Eigen::Index p = 0; p < n; ++p) {
    std::vector<double> moved = at;
    const double step = 1e-5 * std::max(1.0, std::abs(at[static_cast<std::size_t>(p)]));
    moved[static_cast<std::size_t>(p)] += step;
    const std::vector<double> there = residuals(moved);
    for (Eigen::Index i = 0; i < rows; ++i) {
      const auto k = static_cast<std::size_t>(i);
      slopes(i, p) = (there[k] - values[k]) / step;
    }
  }
  Normal normal{MatrixXd::Zero(n, n), VectorXd::Zero(n)};
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double r = values[static_cast<std::size_t>(i)];
    const double w = weight(r, scale) / (scale * scale);
    normal.matrix += w * slopes.row(i).transpose() * slopes.row(i);
    normal.right -= w * r * slopes.row(i).transpose();
  }
  for (Eigen::Index p = 0; p < n; ++p) {
    const Prior& prior = priors[static_cast<std::size_t>(p)];
    const double w = 1 / (prior.sigma * prior.sigma);
    normal.matrix(p, p) += w;
    normal.right(p) -= w * (at[static_cast<std::size_t>(p)] - prior.mean);
  }
  return normal;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double symmetric_error(double predicted, double measured) {
  return std::exp(std::abs(std::log(predicted / measured))) - 1;
}

double robust_scale(const std::vector<double>& residuals, double least) {
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r));
  return std::max(kNormal * median(std::move(sizes)), least);
}

Fit fit_robust(std::vector<double> at, const std::vector<Prior>& priors,
               const std::function<std::vector<double>(const std::vector<double>&)>& residuals) {
  PACELINE_CHECK(at.size() == priors.size() && !at.empty());
  std::vector<double> values = residuals(at);
  double damping = 1e-2;
  for (int round = 0; round < 200; ++round) {
    const double scale = robust_scale(values);
    const double before = loss(values, scale) + prior_loss(at, priors);
    const Normal normal = normal_equations(at, values, scale, priors, residuals);
    bool moved = false;
    double gain = 0;
    while (!moved && damping < 1e12) {
      MatrixXd damped = normal.matrix;
      damped.diagonal() += damping * (normal.matrix.diagonal().array() + 1e-12).matrix();
      const VectorXd step = damped.ldlt().solve(normal.right);
      std::vector<double> next = at;
      for (std::size_t p = 0; p < at.size(); ++p) next[p] += step(static_cast<Eigen::Index>(p));
      const std::vector<double> there = residuals(next);
      const double after = loss(there, scale) + prior_loss(next, priors);
      if (step.allFinite() && after < before) {  // false for not-a-number
        moved = true;
        gain = before - after;
        at = std::move(next);
        values = there;
        damping = std::max(damping / 5, 1e-9);
      } else {
        damping *= 4;
      }
    }
    if (!moved || gain < 1e-10 * before) break;
  }
  const double scale = robust_scale(values);
  return {std::move(at), std::move(values), scale};
}

Line fit_line(std::span<const models::CurvePoint> points) {
  PACELINE_CHECK(!points.empty());
  std::vector<double> weights(points.size(), 1.0);
  Line line;
  for (int round = 0; round < 50; ++round) {
    // Relative residuals: latency / y + slope x / y - 1.
    Eigen::Matrix2d matrix = Eigen::Matrix2d::Zero();
    Eigen::Vector2d right = Eigen::Vector2d::Zero();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Eigen::Vector2d row(1 / points[i].y, points[i].x / points[i].y);
      matrix += weights[i] * row * row.transpose();
      right += weights[i] * row;
    }
    const Eigen::Vector2d solved = matrix.colPivHouseholderQr().solve(right);
    const bool both = points.size() > 1 && solved.allFinite() && solved(0) >= 0 && solved(1) >= 0;
    line = both ? Line{solved(0), solved(1)} : Line{0, right(1) / matrix(1, 1)};
    if (!both && points.size() > 1 && solved(1) < 0) line = {right(0) / matrix(0, 0), 0};
    std::vector<double> residuals;
    for (const auto& p : points) residuals.push_back(line.at(p.x) / p.y - 1);
    const double scale = robust_scale(residuals, 1e-6);
    double change = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double next = weight(residuals[i], scale);
      change = std::max(change, std::abs(next - weights[i]));
      weights[i] = next;
    }
    if (change < 1e-9) break;
  }
  return line;
}

namespace {

/// Sum of squared relative errors, each at most what an outlier may count.
double cost(std::span<const models::CurvePoint> points, const Line& line) {
  double sum = 0;
  for (const auto& p : points) {
    const double r = line.at(p.x) / p.y - 1;
    sum += std::min(r * r, 1.0);
  }
  return sum;
}

/// What one range more must gain: as much as an error of this size in every point it takes.
constexpr double kRegimeGain = 0.03 * 0.03 * 3;
constexpr std::size_t kLeastPoints = 3;

}  // namespace

std::vector<Regime> fit_regimes(std::span<const models::CurvePoint> points, std::size_t most) {
  const std::size_t n = points.size();
  if (n == 0) return {};
  if (n < 2 * kLeastPoints) return {{0, n, fit_line(points)}};
  // best[e][r]: least cost of the first e points in r ranges, and where the last one begins.
  struct Choice {
    double cost = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
    Line line;
  };
  std::vector<std::vector<Choice>> best(n + 1, std::vector<Choice>(most + 1));
  best[0][0].cost = 0;
  for (std::size_t begin = 0; begin + kLeastPoints <= n; ++begin) {
    for (std::size_t end = begin + kLeastPoints; end <= n; ++end) {
      const auto range = points.subspan(begin, end - begin);
      const Line line = fit_line(range);
      const double here = cost(range, line);
      for (std::size_t r = 1; r <= most; ++r) {
        const double total = best[begin][r - 1].cost + here;
        if (total < best[end][r].cost) best[end][r] = {total, begin, line};
      }
    }
  }
  std::size_t count = 1;
  for (std::size_t r = 2; r <= most; ++r)
    if (best[n][r].cost + kRegimeGain * static_cast<double>(r - count) < best[n][count].cost)
      count = r;
  std::vector<Regime> regimes;
  for (std::size_t end = n, r = count; r > 0; end = best[end][r].begin, --r)
    regimes.push_back({best[end][r].begin, end, best[end][r].line});
  std::reverse(regimes.begin(), regimes.end());
  return regimes;
}

namespace {

/// ln y at x from two points, by the line through their logarithms; slopes of times over sizes lie
/// between those of no work and of a working set that leaves a cache.
double on_line(const models::CurvePoint& a, const models::CurvePoint& b, double x) {
  const double slope = std::clamp(std::log(b.y / a.y) / std::log(b.x / a.x), 0.0, 1.5);
  return std::log(a.y) + slope * std::log(x / a.x);
}

/// ln(measured / what the others say) of each point that is still in.
std::vector<double> neighbour_residuals(const std::vector<models::CurvePoint>& p) {
  std::vector<double> residuals(p.size(), 0);
  const std::size_t n = p.size();
  if (n < 4) return residuals;
  for (std::size_t i = 0; i < n; ++i) {
    double expected = 0;
    if (i == 0) {
      expected = on_line(p[1], p[2], p[0].x);
    } else if (i + 1 == n) {
      expected = on_line(p[n - 3], p[n - 2], p[i].x);
    } else {
      const double f = std::log(p[i].x / p[i - 1].x) / std::log(p[i + 1].x / p[i - 1].x);
      expected = (1 - f) * std::log(p[i - 1].y) + f * std::log(p[i + 1].y);
    }
    residuals[i] = std::log(p[i].y) - expected;
  }
  return residuals;
}

}  // namespace

std::vector<std::size_t> curve_outliers(std::span<const models::CurvePoint> points) {
  constexpr double kLeast = 0.4;  // ln 1.5: kinks between caches stay below
  std::vector<models::CurvePoint> left(points.begin(), points.end());
  std::vector<std::size_t> index(points.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = i;
  std::vector<std::size_t> out;
  while (4 * (out.size() + 1) <= points.size()) {
    const std::vector<double> residuals = neighbour_residuals(left);
    const double limit = std::max(kLeast, kOutlier * robust_scale(residuals));
    // Of a wrong point and its neighbours, which it pulls, the wrong one is off the most.
    std::size_t worst = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      if (std::abs(residuals[i]) > std::abs(residuals[worst])) worst = i;
    if (residuals.empty() || std::abs(residuals[worst]) <= limit) break;
    out.push_back(index[worst]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(worst));
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace paceline::calibrate

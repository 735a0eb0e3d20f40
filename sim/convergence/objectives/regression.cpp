// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

/// Linear models: data, what comes of it and a slope per sample.
struct Regression {
  Matrix x;  ///< samples x size
  Vector y;  ///< targets; logistic: -1 or 1
  double l2 = 0;
};

Vector weights_of(std::span<const float> w) {
  return matrix_of(w, {"", 0, static_cast<int>(w.size())});
}

/// log(1 + exp(-margin)) without overflow.
double logistic_loss(double margin) {
  return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
}
/// Its slope by the margin.
double logistic_slope(double margin) {
  return margin > 0 ? -std::exp(-margin) / (1 + std::exp(-margin)) : -1 / (1 + std::exp(margin));
}

struct Part {
  double loss, slope;  ///< slope by the prediction
};
Part least_squares_part(double prediction, double y) {
  const double away = prediction - y;
  return {away * away / 2, away};
}
Part logistic_part(double prediction, double y) {
  return {logistic_loss(y * prediction), y * logistic_slope(y * prediction)};
}
using PartFunction = Part (*)(double, double);

double batch_gradient(const Regression& r, PartFunction part, std::span<const float> w,
                      const Batch& batch, std::span<float> gradient) {
  const Vector weights = weights_of(w);
  const double share = 1 / static_cast<double>(batch.size());
  Vector sum = r.l2 * weights;
  double loss = r.l2 / 2 * squared_norm(weights.numbers());
  for (const std::uint32_t i : batch) {
    const Part p = part(dot(r.x.row(i), weights.numbers()), r.y[i]);
    loss += share * p.loss;
    add(r.x.row(i), sum.numbers(), share * p.slope);
  }
  for (std::size_t i = 0; i < w.size(); ++i) gradient[i] = static_cast<float>(sum.data()[i]);
  return loss;
}

double whole_loss(const Regression& r, PartFunction part, const Vector& weights) {
  const Vector predictions = r.x * weights;
  double loss = 0;
  for (Index i = 0; i < r.y.size(); ++i) loss += part(predictions[i], r.y[i]).loss;
  return loss / static_cast<double>(r.y.size()) + r.l2 / 2 * squared_norm(weights.numbers());
}

/// Newton's method, with half steps while a step does not descend.
double logistic_optimum(const Regression& r) {
  const auto n = static_cast<double>(r.y.size());
  Vector w = Vector(r.x.columns());
  double loss = whole_loss(r, &logistic_part, w);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const Vector margins = times(r.x * w, r.y);
    Vector slope(margins.size()), curve(margins.size());
    for (Index i = 0; i < margins.size(); ++i) {
      const double s = logistic_slope(margins[i]);
      slope[i] = r.y[i] * s / n;
      curve[i] = -s * (1 + s) / n;
    }
    const Vector gradient = r.x.transpose() * slope + r.l2 * w;
    Matrix hessian = scale_rows(curve, r.x).transpose() * r.x;
    for (Index i = 0; i < hessian.rows(); ++i) hessian(i, i) += r.l2;
    const Vector step = solve(hessian, gradient);
    double length = 1, next = whole_loss(r, &logistic_part, w - step);
    while (!(next <= loss) && length > 1e-6) {
      length /= 2;
      next = whole_loss(r, &logistic_part, w - length * step);
    }
    if (!(next < loss)) break;
    w -= length * step;
    loss = next;
  }
  return loss;
}

Objective make_regression(Regression r, PartFunction part, double noise) {
  Objective f;
  add_block(f, "w", static_cast<int>(r.x.columns()), 1, Role::Vector);
  f.samples = static_cast<std::size_t>(r.y.size());
  f.noise = noise;
  f.loss = [r, part](std::span<const float> w) { return whole_loss(r, part, weights_of(w)); };
  f.gradient = [r = std::move(r), part](std::span<const float> w, std::span<const float>,
                                        const Batch& batch, std::span<float> gradient) {
    return batch_gradient(r, part, w, batch, gradient);
  };
  return f;
}

}  // namespace

// Rows of X normal, y = X w with a normal w: Randomized PipeDream's quadratic.
ObjectiveMaker read_least_squares(base::Fields& fields) {
  const auto samples = fields.integer("samples", 1, 10'000'000, 40);
  const auto size = fields.integer("size", 1, 100'000, 128);
  const double noise = fields.number("noise", 0, 1e6, 0);
  return [=](std::uint64_t seed) {
    base::Rng rng(stream_seed(seed, Stream::Data));
    Regression r;
    r.x = normal_matrix(rng, samples, size);
    r.y = r.x * normal_matrix(rng, size, 1);
    return make_regression(std::move(r), &least_squares_part, noise);
  };
}

// y = 1 with probability sigmoid(x w), else -1; the loss is shown less that of the best weights.
ObjectiveMaker read_logistic(base::Fields& fields) {
  const auto samples = fields.integer("samples", 1, 10'000'000, 40);
  const auto size = fields.integer("size", 1, 10'000, 128);
  const double l2 = fields.number("l2", 1e-12, 1e6, 1e-4);
  const double noise = fields.number("noise", 0, 1e6, 0);
  return [=](std::uint64_t seed) {
    base::Rng rng(stream_seed(seed, Stream::Data));
    Regression r;
    r.l2 = l2;
    r.x = normal_matrix(rng, samples, size);
    r.y = r.x * normal_matrix(rng, size, 1);
    for (double& y : r.y) y = rng.uniform() < 1 / (1 + std::exp(-y)) ? 1 : -1;
    const double optimum = logistic_optimum(r);
    Objective f = make_regression(std::move(r), &logistic_part, noise);
    f.optimum = optimum;
    return f;
  };
}

}  // namespace paceline::sim::convergence

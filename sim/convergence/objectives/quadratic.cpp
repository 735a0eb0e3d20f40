// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "base/distributions.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

constexpr std::array<base::Named<bool>, 2> kHessians{{{"diagonal", false}, {"tridiagonal", true}}};

/// A x of the Hessian with `diagonal` on its diagonal and `beside` next to it.
double hessian_row(std::span<const float> x, std::span<const double> diagonal, double beside,
                   std::size_t i) {
  double sum = diagonal[i] * static_cast<double>(x[i]);
  if (i > 0) sum += beside * static_cast<double>(x[i - 1]);
  if (i + 1 < x.size()) sum += beside * static_cast<double>(x[i + 1]);
  return sum;
}

double quadratic_form(std::span<const float> x, std::span<const double> diagonal, double beside) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += static_cast<double>(x[i]) * hessian_row(x, diagonal, beside, i);
  return sum / 2;
}

}  // namespace

// f(x) = x^T A x / 2, from a normal x. Diagonal: eigenvalues from 1 down to 1 / condition, each the
// same share of the one before. Tridiagonal: 1/2 on the diagonal, -1/4 beside it (Nesterov,
// Introductory lectures on convex optimization, 2004, section 2.1.2), largest eigenvalue below 1.
ObjectiveMaker read_quadratic(base::Fields& fields) {
  const int size = static_cast<int>(fields.integer("size", 1, 1'000'000, 100));
  const bool tridiagonal = fields.choice<bool>("hessian", kHessians, false);
  const double condition = tridiagonal ? 1 : fields.number("condition", 1, 1e12, 100);
  const double noise = fields.number("noise", 0, 1e6, 0);
  return [=](std::uint64_t seed) {
    Objective f;
    const Block x = add_block(f, "x", size, 1, Role::Vector);
    base::Rng rng(stream_seed(seed, Stream::Start));
    for (float& w : f.start) w = static_cast<float>(base::standard_normal(rng));
    std::vector<double> diagonal(x.size(), 0.5);
    if (!tridiagonal) {
      for (std::size_t i = 0; i < diagonal.size(); ++i)
        diagonal[i] = std::pow(condition, -static_cast<double>(i) / std::max(1, size - 1));
    }
    const double beside = tridiagonal ? -0.25 : 0;
    f.noise = noise;
    f.gradient = [diagonal, beside](std::span<const float> w, std::span<const float>, const Batch&,
                                    std::span<float> gradient) {
      for (std::size_t i = 0; i < w.size(); ++i)
        gradient[i] = static_cast<float>(hessian_row(w, diagonal, beside, i));
      return quadratic_form(w, diagonal, beside);
    };
    f.loss = [diagonal, beside](std::span<const float> w) {
      return quadratic_form(w, diagonal, beside);
    };
    return f;
  };
}

// f(W) = tr((W - W*)^T A (W - W*)) / 2 with A = Q diag(l) Q^T, l from 1 down to 1 / condition.
ObjectiveMaker read_matrix_quadratic(base::Fields& fields) {
  const int size = static_cast<int>(fields.integer("size", 1, 1024, 16));
  const double condition = fields.number("condition", 1, 1e12, 100);
  const double noise = fields.number("noise", 0, 1e6, 0);
  return [=](std::uint64_t seed) {
    Objective f;
    const Block block = add_block(f, "w", size, size, Role::Matrix);
    base::Rng rng(stream_seed(seed, Stream::Data));
    const Matrix basis = orthonormal(normal_matrix(rng, size, size));
    Vector values(size);
    for (int i = 0; i < size; ++i)
      values[i] = std::pow(condition, -static_cast<double>(i) / std::max(1, size - 1));
    const Matrix hessian = scale_columns(basis, values) * basis.transpose();
    const Matrix best = normal_matrix(rng, size, size);
    f.noise = noise;
    f.gradient = [=](std::span<const float> w, std::span<const float>, const Batch&,
                     std::span<float> gradient) {
      const Matrix away = matrix_of(w, block) - best, slope = hessian * away;
      store(slope, block, gradient);
      return dot(slope.numbers(), away.numbers()) / 2;
    };
    f.loss = [=](std::span<const float> w) {
      const Matrix away = matrix_of(w, block) - best;
      return dot((hessian * away).numbers(), away.numbers()) / 2;
    };
    return f;
  };
}

}  // namespace paceline::sim::convergence

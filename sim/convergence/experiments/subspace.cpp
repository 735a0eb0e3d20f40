// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sim/convergence/experiment.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

struct Subspace {
  int width = 64, rank = 8, steps = 200, samples = 64;
  double exponent = 1, rate = 0.1, momentum = 0.9;
};

double trace(const Matrix& m) {
  double sum = 0;
  for (Index i = 0; i < m.rows(); ++i) sum += m(i, i);
  return sum;
}
double energy(const Matrix& covariance, const Matrix& basis) {
  return trace(basis.transpose() * covariance * basis) / trace(covariance);
}

/// One step up the energy of a batch: momentum along the tangent space, then the nearest
/// orthonormal basis.
void ascend(const Subspace& o, const Matrix& batch, Matrix& basis, Matrix& momentum) {
  const Matrix slope = batch.transpose() * (batch * basis) / squared_norm(batch.numbers());
  const Matrix inner = basis.transpose() * slope;
  const Matrix along = slope - basis * ((inner + copy(inner.transpose())) / 2);
  momentum = o.momentum * momentum + along;
  basis = polar(basis + o.rate * momentum);
}

Figures learn(const Subspace& o, std::uint64_t seed) {
  base::Rng rng(stream_seed(seed, Stream::Data));
  Vector values(o.width);
  for (int i = 0; i < o.width; ++i) values[i] = std::pow(i + 1.0, -o.exponent);
  const Matrix turn = orthonormal(normal_matrix(rng, o.width, o.width));
  const Matrix covariance = scale_columns(turn, values) * turn.transpose();
  Vector roots = values;
  roots.each([](double& x) { x = std::sqrt(x); });
  const Matrix shape = scale_rows(roots, copy(turn.transpose()));
  Matrix basis = orthonormal(normal_matrix(rng, o.width, o.rank));
  const double bound =
      sum(values.numbers().first(static_cast<std::size_t>(o.rank))) / sum(values.numbers());
  Figures f{{"bound", bound}, {"random", energy(covariance, basis)}};
  Matrix momentum(o.width, o.rank);
  double needed = o.steps;
  for (int k = 0; k < o.steps; ++k) {
    ascend(o, normal_matrix(rng, o.samples, o.width) * shape, basis, momentum);
    if (needed == o.steps && energy(covariance, basis) >= 0.95 * bound) needed = k + 1;
  }
  f.emplace_back("learned", energy(covariance, basis));
  f.emplace_back("share_of_bound", f.back().second / bound);
  f.emplace_back("steps_to_95", needed);
  return f;
}

}  // namespace

// Normal activations whose covariance has eigenvalues i^-exponent; the best basis of `rank`
// directions keeps the sum of the largest, the bound.
Experiment read_subspace(base::Fields& fields) {
  Subspace o;
  o.width = static_cast<int>(fields.integer("width", 1, 1024, o.width));
  o.rank = static_cast<int>(fields.integer("rank", 1, o.width, std::min(o.rank, o.width)));
  o.steps = static_cast<int>(fields.integer("steps", 1, 100'000, o.steps));
  o.samples = static_cast<int>(fields.integer("samples", 1, 100'000, o.samples));
  o.exponent = fields.number("exponent", 0, 10, o.exponent);
  o.rate = fields.number("rate", 1e-9, 1e6, o.rate);
  o.momentum = fields.number("momentum", 0, 1 - 1e-9, o.momentum);
  return [o](std::uint64_t seed, const std::atomic<bool>&) { return learn(o, seed); };
}

}  // namespace paceline::sim::convergence

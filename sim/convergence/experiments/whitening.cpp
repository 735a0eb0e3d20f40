// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/whitening.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/convergence/codec.hpp"
#include "sim/convergence/experiment.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

struct Whitening {
  int rows = 256, columns = 512;
  double exponent = 1;     ///< eigenvalue i of the covariance is i^-exponent, from 1
  bool geometric = false;  ///< or from 1 down to `least`, each the same share of the one before
  double least = 1e-4;
  int rank = 32, block = 128;
  bool variants = true;
};

/// Relative error of one fp32 -> code -> fp32 trip of `sent`, measured after `undo`.
using RoundTripOf = void (*)(std::span<float>);
double trip_error(const Matrix& whole, const Matrix& sent, const Matrix& undo, RoundTripOf trip) {
  FloatMatrix code = sent.cast<float>();
  trip({code.data(), static_cast<std::size_t>(code.size())});
  return (code.cast<double>() * undo - whole).norm() / whole.norm();
}

/// A power of a symmetric matrix from its eigenvectors.
Matrix power_of(const Matrix& basis, const Vector& values, double power) {
  const Vector raised = values.array().pow(power);
  return basis * raised.asDiagonal() * basis.transpose();
}
Matrix power_of(const Matrix& symmetric, double power) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
  return power_of(solver.eigenvectors(), solver.eigenvalues(), power);
}

/// The root of the covariance as far as a variant of whitening knows it, and its inverse.
struct Roots {
  Matrix root, inverse;
};
Roots diagonal_roots(const Matrix& covariance) {
  const Vector d = covariance.diagonal();
  return {Matrix(d.array().sqrt().matrix().asDiagonal()),
          Matrix(d.array().rsqrt().matrix().asDiagonal())};
}
Roots block_roots(const Matrix& covariance, Eigen::Index block) {
  const Eigen::Index n = covariance.rows();
  Roots r{Matrix::Zero(n, n), Matrix::Zero(n, n)};
  for (Eigen::Index b = 0; b < n; b += block) {
    const Eigen::Index size = std::min(block, n - b);
    const Matrix part = covariance.block(b, b, size, size);
    r.root.block(b, b, size, size) = power_of(part, 0.5);
    r.inverse.block(b, b, size, size) = power_of(part, -0.5);
  }
  return r;
}
/// As kernels do it: base/numeric/whitening.hpp.
Roots low_rank_roots(const Matrix& basis, const Vector& values, int rank) {
  const auto n = static_cast<float>(values.size());
  const float known = static_cast<float>(values.head(rank).sum());
  const float tail =
      numeric::whitening_tail(static_cast<float>(values.sum()), known, n, static_cast<float>(rank));
  const auto side = [&](bool undo) {
    Matrix m = Matrix::Identity(values.size(), values.size()) *
               static_cast<double>(numeric::whitening_power(tail, undo));
    for (int i = 0; i < rank; ++i) {
      const float gain = numeric::whitening_gain(static_cast<float>(values[i]), tail, undo);
      m += static_cast<double>(gain) * basis.col(i) * basis.col(i).transpose();
    }
    return m;
  };
  return {side(true), side(false)};
}

Figures whiten(const Whitening& o, std::uint64_t seed, const std::atomic<bool>& stop) {
  base::Rng rng(stream_seed(seed, Stream::Data));
  Vector values(o.columns);
  for (int i = 0; i < o.columns; ++i)
    values[i] = o.geometric ? std::pow(o.least, i / std::max(1.0, o.columns - 1.0))
                            : std::pow(i + 1.0, -o.exponent);
  const Matrix basis = orthonormal(normal_matrix(rng, o.columns, o.columns));
  const Matrix signal = normal_matrix(rng, o.rows, o.columns);
  const Matrix covariance = power_of(basis, values, 1);
  const Matrix gradient = signal * covariance, none = Matrix::Identity(o.columns, o.columns);
  const double effective = std::pow(values.sum(), 2) / values.squaredNorm();
  Figures f{{"law", std::sqrt(o.columns / effective)}, {"effective_rank", effective}};
  const double plain = trip_error(gradient, gradient, none, &e4m3_round_trip);
  const double wide = trip_error(gradient, gradient, none, &e5m2_round_trip);
  f.emplace_back("e4m3", plain);
  f.emplace_back("e5m2", wide);
  const Roots full{power_of(basis, values, 0.5), power_of(basis, values, -0.5)};
  const Matrix sent = gradient * full.inverse;
  f.emplace_back("gain", plain / trip_error(gradient, sent, full.root, &e4m3_round_trip));
  f.emplace_back("gain_e5m2", wide / trip_error(gradient, sent, full.root, &e5m2_round_trip));
  if (!o.variants || stop.load()) return f;
  const auto relative = [&](const char* name, const Roots& r) {
    f.emplace_back(name,
                   trip_error(gradient, gradient * r.inverse, r.root, &e4m3_round_trip) / plain);
  };
  relative("diagonal", diagonal_roots(covariance));
  relative("block", block_roots(covariance, o.block));
  relative("low_rank", low_rank_roots(basis, values, o.rank));
  relative("full", full);
  // By the covariance of the other side, rows of the gradient.
  const Matrix outer = gradient * gradient.transpose() / static_cast<double>(o.columns);
  const Matrix turned = gradient.transpose();
  f.emplace_back("output_side", trip_error(turned, turned * power_of(outer, -0.5),
                                           power_of(outer, 0.5), &e4m3_round_trip) /
                                    plain);
  return f;
}

}  // namespace

// Gradients G = D A of a least-squares layer, D normal and A the covariance of its inputs: rounded
// as they are, or after G A^-1/2 and before A^1/2. The rounding error has no direction, so the gain
// is sqrt(n / r), r = tr(A)^2 / tr(A^2) the effective rank of A.
Experiment read_whitening(base::Fields& fields) {
  Whitening o;
  o.rows = static_cast<int>(fields.integer("rows", 1, 4096, o.rows));
  o.columns = static_cast<int>(fields.integer("columns", 1, 4096, o.columns));
  o.geometric = fields.has("least");
  if (o.geometric) o.least = fields.number("least", 1e-12, 1);
  o.exponent = fields.number("exponent", 0, 10, o.exponent);
  o.rank = static_cast<int>(fields.integer("rank", 1, o.columns, std::min(o.rank, o.columns)));
  o.block = static_cast<int>(fields.integer("block", 1, o.columns, std::min(o.block, o.columns)));
  o.variants = fields.flag("variants", false);
  return [o](std::uint64_t seed, const std::atomic<bool>& stop) { return whiten(o, seed, stop); };
}

// Each codec on the same normal numbers as one block.
Experiment read_round_trip(base::Fields& fields) {
  const int rows = static_cast<int>(fields.integer("rows", 1, 100'000, 256));
  const int columns = static_cast<int>(fields.integer("columns", 1, 100'000, 512));
  const double keep = read_share(fields, "keep", 0.1);
  return [=](std::uint64_t seed, const std::atomic<bool>&) {
    base::Rng rng(stream_seed(seed, Stream::Data));
    const FloatMatrix whole = normal_matrix(rng, rows, columns).cast<float>();
    const Block block{"all", 0, rows, columns, Role::Matrix};
    Figures figures;
    for (const CodecKind& kind : codec_kinds()) {
      Codec codec;
      codec.kind = &kind;
      codec.keep = keep;
      CodecState state;
      FloatMatrix got = whole;
      transfer(codec, {&block, 1}, state, seed, {got.data(), static_cast<std::size_t>(got.size())});
      const double error = (got - whole).cast<double>().norm() / whole.cast<double>().norm();
      figures.emplace_back(kind.name, error);
    }
    return figures;
  };
}

}  // namespace paceline::sim::convergence

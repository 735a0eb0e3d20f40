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

double norm(const Matrix& m) { return std::sqrt(squared_norm(m.numbers())); }

/// Relative error of one trip of `sent` through a codec with one scale, measured after `undo`.
using RoundTripOf = std::string_view;
double trip_error(const Matrix& whole, const Matrix& sent, const Matrix& undo, RoundTripOf trip) {
  const Block block{"", 0, static_cast<int>(sent.rows()), static_cast<int>(sent.columns())};
  std::vector<float> code(block.size());
  store(sent, block, code);
  models::CodecState state;
  models::codec_named(trip, "").round_trip({}, {code, code.size(), 1}, state);
  return norm(matrix_of(code, block) * undo - whole) / norm(whole);
}

/// A power of a symmetric matrix from its eigenvectors.
Matrix power_of(const Matrix& basis, const Vector& values, double power) {
  Vector raised = values;
  raised.each([power](double& x) { x = std::pow(x, power); });
  return scale_columns(basis, raised) * basis.transpose();
}
Matrix power_of(const Matrix& symmetric, double power) {
  const EigenPairs pairs = eigen_pairs(symmetric);
  return power_of(pairs.vectors, pairs.values, power);
}

/// The root of the covariance as far as a variant of whitening knows it, and its inverse.
struct Roots {
  Matrix root, inverse;
};
Roots diagonal_roots(const Matrix& covariance) {
  const Index n = covariance.rows();
  Roots r{Matrix(n, n), Matrix(n, n)};
  for (Index i = 0; i < n; ++i) {
    r.root(i, i) = std::sqrt(covariance(i, i));
    r.inverse(i, i) = 1 / r.root(i, i);
  }
  return r;
}
Roots block_roots(const Matrix& covariance, Index block) {
  const Index n = covariance.rows();
  Roots r{Matrix(n, n), Matrix(n, n)};
  for (Index b = 0; b < n; b += block) {
    const Index size = std::min(block, n - b);
    const Matrix part = copy(covariance.block(b, b, size, size));
    r.root.set_block(b, b, power_of(part, 0.5));
    r.inverse.set_block(b, b, power_of(part, -0.5));
  }
  return r;
}
/// As kernels do it: base/numeric/whitening.hpp.
Roots low_rank_roots(const Matrix& basis, const Vector& values, int rank) {
  const auto n = static_cast<float>(values.size());
  const float known =
      static_cast<float>(sum(values.numbers().first(static_cast<std::size_t>(rank))));
  const float tail = numeric::whitening_tail(static_cast<float>(sum(values.numbers())), known, n,
                                             static_cast<float>(rank));
  const auto side = [&](bool undo) {
    Matrix m =
        static_cast<double>(numeric::whitening_power(tail, undo)) * Matrix::identity(values.size());
    for (int i = 0; i < rank; ++i) {
      const float gain = numeric::whitening_gain(static_cast<float>(values[i]), tail, undo);
      for (Index row = 0; row < m.rows(); ++row)
        for (Index column = 0; column < m.columns(); ++column)
          m(row, column) += static_cast<double>(gain) * basis(row, i) * basis(column, i);
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
  const Matrix gradient = signal * covariance, none = Matrix::identity(o.columns);
  const double effective = std::pow(sum(values.numbers()), 2) / squared_norm(values.numbers());
  Figures f{{"law", std::sqrt(o.columns / effective)}, {"effective_rank", effective}};
  const double plain = trip_error(gradient, gradient, none, "fp8-e4m3");
  const double wide = trip_error(gradient, gradient, none, "fp8-e5m2");
  f.emplace_back("e4m3", plain);
  f.emplace_back("e5m2", wide);
  const Roots full{power_of(basis, values, 0.5), power_of(basis, values, -0.5)};
  const Matrix sent = gradient * full.inverse;
  f.emplace_back("gain", plain / trip_error(gradient, sent, full.root, "fp8-e4m3"));
  f.emplace_back("gain_e5m2", wide / trip_error(gradient, sent, full.root, "fp8-e5m2"));
  if (!o.variants || stop.load()) return f;
  const auto relative = [&](const char* name, const Roots& r) {
    f.emplace_back(name, trip_error(gradient, gradient * r.inverse, r.root, "fp8-e4m3") / plain);
  };
  relative("diagonal", diagonal_roots(covariance));
  relative("block", block_roots(covariance, o.block));
  relative("low_rank", low_rank_roots(basis, values, o.rank));
  relative("full", full);
  // By the covariance of the other side, rows of the gradient.
  const Matrix outer = gradient * gradient.transpose() / static_cast<double>(o.columns);
  const Matrix turned = copy(gradient.transpose());
  f.emplace_back(
      "output_side",
      trip_error(turned, turned * power_of(outer, -0.5), power_of(outer, 0.5), "fp8-e4m3") / plain);
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
    const Block block{"all", 0, rows, columns, Role::Matrix};
    std::vector<float> whole(block.size());
    store(normal_matrix(rng, rows, columns), block, whole);
    Figures figures;
    for (const models::Codec& kind : models::codecs()) {
      Codec codec;
      codec.kind = &kind;
      codec.settings.keep = keep;
      codec.settings.values = models::Precision::Fp32;
      CodecState state;
      std::vector<float> got = whole;
      transfer(codec, {&block, 1}, state, seed, got);
      for (std::size_t i = 0; i < got.size(); ++i) got[i] -= whole[i];
      figures.emplace_back(kind.name, norm(matrix_of(got, block)) / norm(matrix_of(whole, block)));
    }
    return figures;
  };
}

}  // namespace paceline::sim::convergence

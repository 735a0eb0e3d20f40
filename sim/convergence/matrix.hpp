// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Eigen/Dense>
#include <cstdint>
#include <span>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "sim/convergence/objective.hpp"

/// Matrices of the workbench: weights are fp32, as in training; what is computed of them is double,
/// so that gradients are exact to their checks.
namespace paceline::sim::convergence {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Matrix matrix_of(std::span<const float> weights, const Block& block) {
  return Eigen::Map<const FloatMatrix>(weights.data() + block.first, block.rows, block.columns)
      .cast<double>();
}
/// Rounds to fp32.
inline void store(const Matrix& from, const Block& block, std::span<float> to) {
  Eigen::Map<FloatMatrix>(to.data() + block.first, block.rows, block.columns) = from.cast<float>();
}
/// Independent normal numbers, row by row.
inline Matrix normal_matrix(base::Rng& rng, Eigen::Index rows, Eigen::Index columns,
                            double deviation = 1) {
  Matrix m(rows, columns);
  for (Eigen::Index i = 0; i < m.size(); ++i) m.data()[i] = deviation * base::standard_normal(rng);
  return m;
}
/// Orthonormal columns that span those of `m` (rows >= columns), by Householder QR.
inline Matrix orthonormal(const Matrix& m) {
  Eigen::MatrixXd column_major = m;
  Eigen::HouseholderQR<Eigen::MatrixXd> qr(column_major);
  return qr.householderQ() * Eigen::MatrixXd::Identity(m.rows(), m.cols());
}
/// The nearest matrix with orthonormal columns, U V^T of m = U S V^T.
Matrix polar(const Matrix& m);

}  // namespace paceline::sim::convergence

// SPDX-License-Identifier: Apache-2.0
// The only source of the workbench that needs Eigen: it takes long to compile.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <cmath>

#include "base/distributions.hpp"
#include "base/numeric/optimizers.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

namespace e = ::Eigen;
using RowMajor = e::Matrix<double, e::Dynamic, e::Dynamic, e::RowMajor>;
using FloatMatrix = e::Matrix<float, e::Dynamic, e::Dynamic, e::RowMajor>;
template <class Order>
using Strided = e::Map<const Order, e::Unaligned, e::OuterStride<>>;

template <class Function>
void in_order(const View& v, Function function) {
  if (v.transposed) {
    function(Strided<e::MatrixXd>(v.data, v.rows, v.columns, e::OuterStride<>(v.stride)));
  } else {
    function(Strided<RowMajor>(v.data, v.rows, v.columns, e::OuterStride<>(v.stride)));
  }
}

e::Map<RowMajor> map(Matrix& m) { return {m.data(), m.rows(), m.columns()}; }
e::Map<const RowMajor> map(const Matrix& m) { return {m.data(), m.rows(), m.columns()}; }
e::Map<const e::VectorXd> map(std::span<const double> values) {
  return {values.data(), static_cast<e::Index>(values.size())};
}

template <class From>
Matrix matrix_of(const From& from) {
  Matrix m(from.rows(), from.cols());
  map(m) = from;
  return m;
}

using Svd = e::JacobiSVD<e::MatrixXd>;
Svd svd_of(const Matrix& m) { return Svd(map(m), e::ComputeThinU | e::ComputeThinV); }

}  // namespace

Matrix copy(View view) {
  Matrix m(view.rows, view.columns);
  in_order(view, [&](const auto& from) { map(m) = from; });
  return m;
}

Matrix operator*(View a, View b) {
  Matrix m(a.rows, b.columns);
  const bool vector = b.columns == 1 && !b.transposed && b.stride == 1;
  in_order(a, [&](const auto& left) {
    if (vector) {
      e::Map<e::VectorXd>(m.data(), m.rows()).noalias() =
          left * e::Map<const e::VectorXd>(b.data, b.rows);
    } else {
      in_order(b, [&](const auto& right) { map(m).noalias() = left * right; });
    }
  });
  return m;
}

double dot(std::span<const double> a, std::span<const double> b) { return map(a).dot(map(b)); }
double sum(std::span<const double> values) { return map(values).sum(); }
double squared_norm(std::span<const double> values) { return map(values).squaredNorm(); }
Vector row_dots(const Matrix& a, const Matrix& b) {
  Vector sums(a.rows());
  for (Index i = 0; i < a.rows(); ++i) sums[i] = dot(a.row(i), b.row(i));
  return sums;
}
void exp_less(std::span<double> values, double top) {
  e::Map<e::ArrayXd> x(values.data(), static_cast<e::Index>(values.size()));
  x = (x - top).exp();
}

Matrix orthonormal(const Matrix& m) {
  const e::MatrixXd column_major = map(m);
  const e::HouseholderQR<e::MatrixXd> qr(column_major);
  return matrix_of(e::MatrixXd(qr.householderQ() * e::MatrixXd::Identity(m.rows(), m.columns())));
}

Matrix polar(const Matrix& m) {
  const Svd svd = svd_of(m);
  return matrix_of(RowMajor(svd.matrixU() * svd.matrixV().transpose()));
}

Matrix flat_spectrum(const Matrix& m) {
  const Svd svd = svd_of(m);
  return svd.singularValues().mean() *
         matrix_of(RowMajor(svd.matrixU() * svd.matrixV().transpose()));
}

EigenPairs eigen_pairs(const Matrix& symmetric) {
  const e::SelfAdjointEigenSolver<e::MatrixXd> solver(map(symmetric));
  return {matrix_of(solver.eigenvalues()), matrix_of(solver.eigenvectors())};
}

Vector solve(const Matrix& symmetric, const Vector& b) {
  const e::MatrixXd a = map(symmetric);
  const e::VectorXd right = map(b.numbers());
  return matrix_of(e::VectorXd(a.ldlt().solve(right)));
}

void orthogonalise(std::span<float> matrix, int rows, int columns) {
  e::Map<FloatMatrix> whole(matrix.data(), rows, columns);
  const float norm = static_cast<float>(std::sqrt(whole.cast<double>().squaredNorm()));
  FloatMatrix x = whole / (norm + numeric::kNewtonSchulzEpsilon);
  const bool tall = rows > columns;
  if (tall) x.transposeInPlace();
  for (int i = 0; i < numeric::kNewtonSchulzSteps; ++i) {
    const FloatMatrix a = x * x.transpose();
    const FloatMatrix b = numeric::kNewtonSchulzB * a + numeric::kNewtonSchulzC * (a * a);
    x = (numeric::kNewtonSchulzA * x + b * x).eval();
  }
  if (tall) x.transposeInPlace();
  whole = x;
}

Matrix normal_matrix(base::Rng& rng, Index rows, Index columns, double deviation) {
  Matrix m(rows, columns);
  for (double& x : m) x = deviation * base::standard_normal(rng);
  return m;
}

}  // namespace paceline::sim::convergence

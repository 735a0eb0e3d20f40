// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "sim/convergence/objective.hpp"

/// Matrices of the workbench: weights are fp32, as in training; what is computed of them is double,
/// so that gradients are exact to their checks. Products, sums and decompositions are functions of
/// linear_algebra.cpp alone, which is slow to compile.
namespace paceline::sim::convergence {

using Index = std::ptrdiff_t;

/// Numbers that somebody else keeps: rows `stride` apart, or that transposed.
struct View {
  const double* data = nullptr;
  Index rows = 0, columns = 0, stride = 0;
  bool transposed = false;
  View transpose() const { return {data, columns, rows, stride, !transposed}; }
};

/// Row-major; a vector is a matrix of one column.
class Matrix {
 public:
  Matrix() = default;
  explicit Matrix(Index rows, Index columns = 1)
      : rows_(rows), columns_(columns), numbers_(static_cast<std::size_t>(rows * columns)) {}
  explicit Matrix(std::span<const double> column)
      : rows_(static_cast<Index>(column.size())),
        columns_(1),
        numbers_(column.begin(), column.end()) {}
  static Matrix identity(Index size) {
    Matrix m(size, size);
    for (Index i = 0; i < size; ++i) m(i, i) = 1;
    return m;
  }

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  Index size() const { return rows_ * columns_; }
  const double* data() const { return numbers_.data(); }
  double* data() { return numbers_.data(); }
  double operator()(Index i, Index j) const { return (*this)[i * columns_ + j]; }
  double& operator()(Index i, Index j) { return (*this)[i * columns_ + j]; }
  double operator[](Index i) const { return numbers_[static_cast<std::size_t>(i)]; }
  double& operator[](Index i) { return numbers_[static_cast<std::size_t>(i)]; }
  auto begin() { return numbers_.begin(); }
  auto end() { return numbers_.end(); }
  std::span<const double> numbers() const { return numbers_; }
  std::span<double> numbers() { return numbers_; }
  std::span<const double> row(Index i) const {
    return numbers().subspan(static_cast<std::size_t>(i * columns_),
                             static_cast<std::size_t>(columns_));
  }
  std::span<double> row(Index i) {
    return numbers().subspan(static_cast<std::size_t>(i * columns_),
                             static_cast<std::size_t>(columns_));
  }

  View block(Index row, Index column, Index rows, Index columns) const {
    return {data() + row * columns_ + column, rows, columns, columns_};
  }
  void set_block(Index row, Index column, const Matrix& from) {
    for (Index i = 0; i < from.rows(); ++i)
      for (Index j = 0; j < from.columns(); ++j) (*this)(row + i, column + j) = from(i, j);
  }
  operator View() const { return block(0, 0, rows_, columns_); }
  View transpose() const { return View(*this).transpose(); }

  template <class Function>
  Matrix& each(const Matrix& other, Function function) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) function(numbers_[i], other.numbers_[i]);
    return *this;
  }
  template <class Function>
  Matrix& each(Function function) {
    for (double& x : numbers_) function(x);
    return *this;
  }
  Matrix& operator+=(const Matrix& b) {
    return each(b, [](double& x, double y) { x += y; });
  }
  Matrix& operator-=(const Matrix& b) {
    return each(b, [](double& x, double y) { x -= y; });
  }
  Matrix& operator*=(double factor) {
    return each([factor](double& x) { x *= factor; });
  }
  Matrix& operator/=(double divisor) {
    return each([divisor](double& x) { x /= divisor; });
  }

 private:
  Index rows_ = 0, columns_ = 0;
  std::vector<double> numbers_;
};
using Vector = Matrix;

inline Matrix operator+(Matrix a, const Matrix& b) { return a += b; }
inline Matrix operator-(Matrix a, const Matrix& b) { return a -= b; }
inline Matrix operator*(double factor, Matrix a) { return a *= factor; }
inline Matrix operator/(Matrix a, double divisor) { return a /= divisor; }
/// Element by element.
inline Matrix times(Matrix a, const Matrix& b) {
  return a.each(b, [](double& x, double y) { x *= y; });
}
/// diag(factors) a.
inline Matrix scale_rows(const Vector& factors, Matrix a) {
  for (Index i = 0; i < a.rows(); ++i)
    for (double& x : a.row(i)) x *= factors[i];
  return a;
}
/// a diag(factors).
inline Matrix scale_columns(Matrix a, const Vector& factors) {
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.columns(); ++j) a(i, j) *= factors[j];
  return a;
}
/// to += factor from.
inline void add(std::span<const double> from, std::span<double> to, double factor = 1) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}
inline void copy(std::span<const double> from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i];
}
Matrix copy(View view);

/// Rows of a table in the order of `places`.
inline Matrix rows_of(const Matrix& table, std::span<const int> places) {
  Matrix rows(static_cast<Index>(places.size()), table.columns());
  for (std::size_t i = 0; i < places.size(); ++i)
    copy(table.row(places[i]), rows.row(static_cast<Index>(i)));
  return rows;
}
inline void relu(Matrix& m) {
  m.each([](double& x) { x = x > 0 ? x : 0; });
}
/// Zeros wherever the output of a ReLU is.
inline void relu_back(const Matrix& output, Matrix& slope) {
  slope.each(output, [](double& x, double y) { x *= y > 0 ? 1.0 : 0.0; });
}

/// Products of matrices.
Matrix operator*(View a, View b);
double dot(std::span<const double> a, std::span<const double> b);
double sum(std::span<const double> values);
double squared_norm(std::span<const double> values);
/// Of every row of a b, element by element: sum_j a_ij b_ij.
Vector row_dots(const Matrix& a, const Matrix& b);
/// x becomes exp(x - top).
void exp_less(std::span<double> values, double top);

/// Orthonormal columns that span those of `m` (rows >= columns), by Householder QR.
Matrix orthonormal(const Matrix& m);
/// The nearest matrix with orthonormal columns, U V^T of m = U S V^T.
Matrix polar(const Matrix& m);
/// All singular values replaced by their mean.
Matrix flat_spectrum(const Matrix& m);
/// Of a symmetric matrix; eigenvalues ascend.
struct EigenPairs {
  Vector values;
  Matrix vectors;  ///< in columns
};
EigenPairs eigen_pairs(const Matrix& symmetric);
/// x of a x = b, a symmetric.
Vector solve(const Matrix& symmetric, const Vector& b);

/// The fp32 Newton-Schulz iteration of base/numeric/optimizers.hpp on a row-major matrix.
void orthogonalise(std::span<float> matrix, int rows, int columns);

inline Matrix matrix_of(std::span<const float> weights, const Block& block) {
  Matrix m(block.rows, block.columns);
  for (std::size_t i = 0; i < block.size(); ++i)
    m.data()[i] = static_cast<double>(weights[block.first + i]);
  return m;
}
/// Rounds to fp32.
inline void store(const Matrix& from, const Block& block, std::span<float> to) {
  for (std::size_t i = 0; i < block.size(); ++i)
    to[block.first + i] = static_cast<float>(from.data()[i]);
}
/// Independent normal numbers, row by row.
Matrix normal_matrix(base::Rng& rng, Index rows, Index columns, double deviation = 1);

}  // namespace paceline::sim::convergence

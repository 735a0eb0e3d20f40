// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>

#include "base/numeric/host_device.hpp"

/// A matrix of rows x columns as the product of two thin ones, P (rows x rank) and Q (columns x
/// rank): PowerSGD (Vogels, Karimireddy, Jaggi, arXiv:1905.13727, algorithm 1). One power iteration
/// per step: P = M Q, made orthonormal, Q = M^T P; the matrix is about P Q^T.
///
/// P is made orthonormal by Cholesky QR, twice (Yamamoto et al., Roundoff error analysis of the
/// CholeskyQR2 algorithm, ETNA 44, 2015): P^T P = R^T R with R upper triangular and a positive
/// diagonal, P <- P R^-1. Sums of P^T P are kept in double, so this holds for columns that are far
/// from orthogonal. A column which has lost all but a share of 1e-5 of its length to those before
/// it depends on them, and becomes zero.
namespace paceline::numeric {

constexpr std::int64_t kMaxRank = 128;

/// P and Q in fp32 on the wire.
PACELINE_HD constexpr std::int64_t low_rank_bytes(std::int64_t rows, std::int64_t columns,
                                                  std::int64_t rank) {
  return 4 * (rows + columns) * rank;
}

/// 1 / R_jj from what is left of (P^T P)_jj, or 0 for a column that depends on those before it.
PACELINE_HD inline double pivot_inverse(double left, double whole) {
  return left <= 1e-10 * whole ? 0.0 : 1.0 / std::sqrt(left);
}

}  // namespace paceline::numeric

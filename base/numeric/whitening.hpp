// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>

#include "base/numeric/host_device.hpp"

/// Low-rank whitening of gradients before they are rounded to few bits (GIFT): with A the
/// covariance of a layer's inputs, G' = G A^-1/2 has columns of more equal size than G, and A^1/2
/// undoes it.
///
/// Only the `rank` largest eigenvalues l_i of A are kept, with their eigenvectors U. What the rest
/// is taken for is not published; here it has one eigenvalue, the mean of the rest (`tail`), so
/// that
///   A_r = U diag(l) U^T + tail (I - U U^T),  A_r^p = tail^p I + U diag(l_i^p - tail^p) U^T,
/// which costs two thin products of 2 rows columns rank flops each way. An l_i below the tail
/// counts as the tail, and the tail is at least 1e-6 of the mean eigenvalue, so that both ways are
/// defined.
namespace paceline::numeric {

/// The mean of the eigenvalues of a matrix of `columns` that are not among `rank` known ones.
PACELINE_HD inline float whitening_tail(float trace, float known, float columns, float rank) {
  const float least = 1e-6F * trace / columns;
  const float tail = rank < columns ? (trace - known) / (columns - rank) : least;
  return tail > least ? tail : least;
}

/// x^-1/2 to whiten, x^1/2 to undo.
PACELINE_HD inline float whitening_power(float x, bool undo) {
  const float root = std::sqrt(x);
  return undo ? root : 1.0F / root;
}
/// Of one eigenvector: l^p - tail^p.
PACELINE_HD inline float whitening_gain(float eigenvalue, float tail, bool undo) {
  return eigenvalue > tail ? whitening_power(eigenvalue, undo) - whitening_power(tail, undo) : 0.0F;
}

/// Running mean of x x^T over batches.
PACELINE_HD inline float running_mean(float old, float decay, float sum, float tokens) {
  return decay * old + (1 - decay) * (sum / tokens);
}

}  // namespace paceline::numeric

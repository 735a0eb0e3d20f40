// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/whitening.hpp"
#include "kernels/operation.hpp"

/// Low-rank whitening of a layer's gradient G, rows (outputs) x columns (inputs)
/// (base/numeric/whitening.hpp). Every step: encode G' = G A_r^-1/2 before a quantiser, decode
/// G' A_r^1/2 after it. Now and then: statistics of the layer's inputs x, tokens x columns,
///   A <- decay A + (1 - decay) x^T x / tokens,
/// then one step of orthogonal iteration with low-rank's operations, U <- A U with orthonormal
/// columns, and eigenvalues l_i = u_i^T A u_i with the tail. All matrices row by row.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(whiten_encode)
PACELINE_DECLARE_DEVICE(whiten_decode)
PACELINE_DECLARE_DEVICE(whiten_statistics)
PACELINE_DECLARE_DEVICE(whiten_eigenvalues)

}  // namespace paceline::kernels

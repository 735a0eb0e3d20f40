// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/low_rank.hpp"
#include "kernels/operation.hpp"

/// The steps of PowerSGD (base/numeric/low_rank.hpp) on a matrix M of rows x columns: between them
/// the ranks of a job sum P and Q. All matrices lie in memory row by row.
///   project P = M Q, orthogonalise P, back-project Q = M^T P, decode M' = P Q^T.
namespace paceline::kernels {

/// Parts of P^T P that are summed side by side on a device.
constexpr std::int64_t kGramParts = 64;
/// 32-bit words that orthogonalise needs on a device: parts of P^T P in double, R^-1, another P.
constexpr std::int64_t orthogonalise_words(std::int64_t rows, std::int64_t rank) {
  return (2 * kGramParts + 1) * rank * rank + rows * rank;
}

PACELINE_DECLARE_DEVICE(low_rank_project)
PACELINE_DECLARE_DEVICE(low_rank_orthogonalise)
PACELINE_DECLARE_DEVICE(low_rank_back_project)
PACELINE_DECLARE_DEVICE(low_rank_decode)

}  // namespace paceline::kernels

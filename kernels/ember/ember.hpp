// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/optimizers.hpp"
#include "kernels/operation.hpp"

/// Ember on a table of rows x columns (base/numeric/optimizers.hpp). The gradient is read twice,
/// first for the means of its squares, then for the update; sums always run in the same order.
namespace paceline::kernels {

enum EmberTensor : std::size_t {
  kEmberGradient,
  kEmberWeight,
  kEmberRows,     ///< moving averages: [rows]
  kEmberColumns,  ///< [columns]
  kEmberAll,      ///< [1]
  kEmberSettings,
  kEmberRowParts,     ///< sums of squares: [column tiles][rows]
  kEmberColumnParts,  ///< [row chunks][columns]
  kEmberCopy          ///< not in fp32
};
/// Part of the table whose squares a block sums.
constexpr int kEmberTile = 256, kEmberChunk = 256;

PACELINE_DECLARE_DEVICE(ember_step)

}  // namespace paceline::kernels

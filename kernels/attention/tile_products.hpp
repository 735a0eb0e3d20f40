// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "kernels/attention/attention.hpp"

namespace paceline::kernels {

/// Widths of product columns are multiples of this.
constexpr int kTileWidth = 16;

/// c[m][n] = (or +=) a[m][k] b[k][n]. Columns of b and c are contiguous, n a multiple of
/// kTileWidth; up to 5 more rows of a are read and of c written than m says.
struct TileProduct {
  const float* a;
  std::ptrdiff_t a_row, a_column;
  const float* b;
  std::ptrdiff_t b_row;
  float* c;
  std::ptrdiff_t c_row;
  int m, n, k;
  bool add;
};

/// One tile of the online softmax: `scores` [rows][columns] in powers of two become numerators,
/// zero where spans (of keys; the tile's first column is `first_key`) do not reach; `maximum`,
/// `sum` and the rows of `sums` [rows][width] move on.
struct SoftmaxTile {
  float* scores;
  std::ptrdiff_t row;
  int rows, columns, first_key;
  const Span* spans;
  float *maximum, *sum, *sums;
  int width;
};

/// `scores` [rows][columns] in powers of two become P, `gradients` from dP to dS.
struct GradientTile {
  float *scores, *gradients;
  std::ptrdiff_t row;
  int rows, columns, first_key;
  const Span* spans;
  const float *lse, *delta;
};

/// The inner loops, for the instructions this processor has.
struct TileProducts {
  void (*product)(const TileProduct&);
  void (*softmax)(const SoftmaxTile&);
  void (*gradient)(const GradientTile&);
};
const TileProducts& tile_products();

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/gemm/product.hpp"

namespace paceline::kernels {

/// A matrix as BLAS sees it: element (row, column) at row + column * stride.
struct ColumnMajorMatrix {
  const void* data;
  DType type;
  std::int64_t rows, columns, stride, step;
};

/// A product in BLAS's words: result = op(first) op(second), all column-major, op a transposition
/// where said. A row-major matrix read by columns is its own transpose, so the product of the
/// transposes in reverse order gives the row-major result.
struct ColumnMajorProduct {
  std::int64_t m, n, k;
  bool first_transposed, second_transposed;
  ColumnMajorMatrix first, second, result, addend;
  const float *first_scale, *second_scale;
};
ColumnMajorProduct column_major(const Product& product);

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// What the tables of kernels on rows and columns share.
namespace paceline::kernels {

/// fp32, bf16 and fp16.
std::vector<DType> float_types();
/// rows * columns
std::int64_t elements(const Case& c);
/// Bytes of inputs and outputs, each moved once, and twice where they are updated in place.
double moved_bytes(const std::vector<TensorSpec>& tensors);
/// `flops` of each element, and moved_bytes.
Work work_of(const Case& c, const std::vector<TensorSpec>& tensors, double flops);

/// rows and columns: 1; odd; with a tail; whole 16-byte packs in one warp and in several;
/// more than a device keeps in registers.
std::vector<Shape> row_test_shapes();
std::vector<Shape> row_bench_shapes();

/// In how many slices of rows a device sums columns (kernels/column_sums.hpp): enough blocks to
/// fill it, and at least 32 rows each, beside which reading the partial sums again is little.
std::int64_t column_slice_count(std::int64_t rows, std::int64_t columns);

/// Calls f(row, index of its first element) for rows of `columns` elements.
template <class F>
void for_rows(std::int64_t rows, std::int64_t columns, const F& f) {
  for (std::int64_t row = 0; row < rows; ++row) f(row, row * columns);
}

}  // namespace paceline::kernels

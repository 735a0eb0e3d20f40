// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/column_major.hpp"

namespace paceline::kernels {
namespace {

/// op(factor) has `rows` x `columns`.
ColumnMajorMatrix by_columns(const Factor& f, std::int64_t rows, std::int64_t columns) {
  const std::int64_t stored_rows = f.transposed ? columns : rows;
  const std::int64_t stored_columns = f.transposed ? rows : columns;
  return {f.data, f.type, stored_columns, stored_rows, f.stride, f.step};
}

}  // namespace

ColumnMajorProduct column_major(const Product& p) {
  const ColumnMajorMatrix result{p.result, p.result_type, p.n, p.m, p.stride, p.step};
  ColumnMajorMatrix addend = result;
  if (p.addend != nullptr) addend.data = p.addend;
  return {p.n,
          p.m,
          p.k,
          p.b.transposed,
          p.a.transposed,
          by_columns(p.b, p.k, p.n),
          by_columns(p.a, p.m, p.k),
          result,
          addend,
          p.b_scale,
          p.a_scale};
}

}  // namespace paceline::kernels

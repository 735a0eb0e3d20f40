// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.hpp"

#include <algorithm>

namespace paceline::kernels {

std::vector<DType> float_types() { return {DType::F32, DType::Bf16, DType::F16}; }

std::int64_t elements(const Case& c) { return c.shape["rows"] * c.shape["columns"]; }

double moved_bytes(const std::vector<TensorSpec>& tensors) {
  double bytes = 0;
  for (const TensorSpec& t : tensors) {
    const double once = static_cast<double>(t.count) * static_cast<double>(bytes_of(t.type));
    if (t.use != Use::Scratch) bytes += t.use == Use::InOut ? 2 * once : once;
  }
  return bytes;
}

Work work_of(const Case& c, const std::vector<TensorSpec>& tensors, double flops) {
  return {flops * static_cast<double>(elements(c)), moved_bytes(tensors)};
}

std::vector<Shape> row_test_shapes() {
  return {{{"rows", 1}, {"columns", 1}},
          {{"rows", 3}, {"columns", 33}},
          {{"rows", 9}, {"columns", 40}},
          {{"rows", 2}, {"columns", 1288}},
          {{"rows", 1}, {"columns", 2101}}};
}

std::vector<Shape> row_bench_shapes() {
  return {{{"rows", 16}, {"columns", 512}},    {{"rows", 128}, {"columns", 1024}},
          {{"rows", 512}, {"columns", 1024}},  {{"rows", 1024}, {"columns", 1024}},
          {{"rows", 2048}, {"columns", 2048}}, {{"rows", 4096}, {"columns", 4096}},
          {{"rows", 8192}, {"columns", 8192}}};
}

std::int64_t column_slice_count(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlocks = 1024, kTile = 256, kRows = 32;
  const std::int64_t tiles = (columns + kTile - 1) / kTile;
  return std::clamp<std::int64_t>(kBlocks / tiles, 1, (rows + kRows - 1) / kRows);
}

}  // namespace paceline::kernels

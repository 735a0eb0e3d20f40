// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_code.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/ember/ember.hpp"
#include "kernels/vectors.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

using numeric::Ember;
constexpr int kWarps = 8, kThreads = 32 * kWarps;

/// A thread's place: warps of a block take rows in turn, a lane the columns at 4 lane and
/// 128 + 4 lane of the block's tile.
struct Place {
  int lane, warp, first_row, end_row, column;
};
__device__ inline Place place_in(int rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int first = static_cast<int>(blockIdx.x) * kEmberChunk;
  return {lane, warp, first + warp, first + kEmberChunk < rows ? first + kEmberChunk : rows,
          static_cast<int>(blockIdx.y) * kEmberTile + 4 * lane};
}
__device__ inline void read_eight(const float* row, int column, int columns, bool aligned,
                                  float* to) {
  read_floats<4>(row + column, columns - column, aligned, to);
  read_floats<4>(row + column + 128, columns - column - 128, aligned, to + 4);
}

__global__ void __launch_bounds__(kThreads)
    squares(const float* gradient, int rows, int columns, bool aligned, float* row_parts,
            float* column_parts) {
  __shared__ float by_warp[kWarps][kEmberTile];
  const Place p = place_in(rows);
  float sums[8] = {};
  for (int row = p.first_row; row < p.end_row; row += kWarps) {
    float g[8], sum = 0;
    read_eight(gradient + std::int64_t{row} * columns, p.column, columns, aligned, g);
    PACELINE_UNROLL
    for (int i = 0; i < 8; ++i) {
      sum += g[i] * g[i];
      sums[i] += g[i] * g[i];
    }
    sum = warp_sum(sum);
    if (p.lane == 0) row_parts[std::int64_t{blockIdx.y} * rows + row] = sum;
  }
  PACELINE_UNROLL
  for (int i = 0; i < 8; ++i) by_warp[p.warp][i / 4 * 128 + 4 * p.lane + i % 4] = sums[i];
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  const int column = static_cast<int>(blockIdx.y) * kEmberTile + own;
  if (column >= columns) return;
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += by_warp[warp][own];
  column_parts[std::int64_t{blockIdx.x} * columns + column] = sum;
}

/// Averages of the columns; leaves a column's sum in the first of its parts. A block takes 32
/// columns, its warps the parts in turn.
__global__ void __launch_bounds__(kThreads)
    average_columns(const Ember* rule, int rows, int columns, int parts, float* column_parts,
                    float* average) {
  __shared__ float by_warp[kWarps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  float sum = 0;
  for (int part = warp; part < parts && column < columns; part += kWarps)
    sum += column_parts[std::int64_t{part} * columns + column];
  by_warp[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= columns) return;
  for (int other = 1; other < kWarps; ++other) sum += by_warp[other][lane];
  column_parts[column] = sum;
  average[column] = ember_average(*rule, average[column], sum / static_cast<float>(rows));
}

/// Averages of the rows, one per thread, and, in the first block, that of all from the columns'
/// sums.
__global__ void __launch_bounds__(kThreads)
    average_rows(const Ember* rule, int rows, int columns, int parts, const float* row_parts,
                 const float* column_sums, float* average, float* all) {
  __shared__ float scratch[32];
  const int row = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (row < rows) {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += row_parts[std::int64_t{part} * rows + row];
    average[row] = ember_average(*rule, average[row], sum / static_cast<float>(columns));
  }
  if (blockIdx.x != 0) return;
  float sum = 0;
  for (int column = static_cast<int>(threadIdx.x); column < columns; column += kThreads)
    sum += column_sums[column];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0)
    *all =
        ember_average(*rule, *all, sum / (static_cast<float>(rows) * static_cast<float>(columns)));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    apply(const float* gradient, float* weight, T* copy, const float* row_average,
          const float* column_average, const float* all, const Ember* rule, int rows, int columns,
          bool aligned) {
  const Place p = place_in(rows);
  const Ember r = *rule;
  const float total = *all;
  float column[8];
  read_eight(column_average, p.column, columns, aligned, column);
  for (int row = p.first_row; row < p.end_row; row += kWarps) {
    const std::int64_t at = std::int64_t{row} * columns;
    const float factor = ember_row(r, row_average[row], total);
    float g[8], w[8];
    read_eight(gradient + at, p.column, columns, aligned, g);
    read_eight(weight + at, p.column, columns, aligned, w);
    PACELINE_UNROLL
    for (int i = 0; i < 8; ++i) ember_apply(r, g[i], factor, column[i], w[i]);
    PACELINE_UNROLL
    for (int i = 0; i < 8; i += 4) {
      const int first = p.column + i * 32;
      write_floats<4>(w + i, weight + at + first, columns - first, aligned);
      if (copy != nullptr) write_floats<4>(w + i, copy + at + first, columns - first, aligned);
    }
  }
}

template <class T>
void step(const Call& call, Stream stream) {
  const auto rows = static_cast<int>(call["rows"]), columns = static_cast<int>(call["columns"]);
  const auto parts = [](int extent, int size) { return (extent + size - 1) / size; };
  const int chunks = parts(rows, kEmberChunk), tiles = parts(columns, kEmberTile);
  const auto blocks = [](int x, int y) {
    return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
  };
  const auto* gradient = call.at<const float>(kEmberGradient);
  auto *weight = call.at<float>(kEmberWeight), *row_average = call.at<float>(kEmberRows),
       *column_average = call.at<float>(kEmberColumns), *all = call.at<float>(kEmberAll),
       *row_parts = call.at<float>(kEmberRowParts),
       *column_parts = call.at<float>(kEmberColumnParts);
  const auto* rule = call.at<const Ember>(kEmberSettings);
  T* copy = call.c.type == DType::F32 ? nullptr : call.at<T>(kEmberCopy);
  const bool aligned =
      rows_aligned<float>(gradient, columns, 0) && rows_aligned<float>(weight, columns, 0) &&
      rows_aligned<float>(column_average, columns, 0) && rows_aligned<float>(copy, columns, 0);
  launch(squares, blocks(chunks, tiles), kThreads, 0, stream, gradient, rows, columns, aligned,
         row_parts, column_parts);
  launch(average_columns, blocks(parts(columns, 32), 1), kThreads, 0, stream, rule, rows, columns,
         chunks, column_parts, column_average);
  launch(average_rows, blocks(parts(rows, kThreads), 1), kThreads, 0, stream, rule, rows, columns,
         tiles, row_parts, column_parts, row_average, all);
  launch(apply<T>, blocks(chunks, tiles), kThreads, 0, stream, gradient, weight, copy, row_average,
         column_average, all, rule, rows, columns, aligned);
}

}  // namespace

void ember_step(const Call& c, Stream s) { PACELINE_BY_TYPE(c, step, s); }

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/packs.hpp"
#include "kernels/rows.hpp"

/// Device code: sums over rows, one for each column, as weight gradients of normalisations are.
/// Warps stand on 32 packs of columns and share the rows of a slice; a second kernel adds the
/// slices. The order of additions does not depend on timing: results are the same in every run.
namespace paceline::kernels::PACELINE_TARGET {

inline constexpr int kSumWarps = 8;

/// partial[sum][slice][column]. `terms(row, x, dy, float (&sums)[kSums][W])` adds what a pack of a
/// row adds.
template <int kSums, int W, class T, class Terms>
__global__ void __launch_bounds__(32 * kSumWarps, 2)
    column_slices(Terms terms, const T* x, const T* dy, float* partial, int rows, int columns) {
  __shared__ float shared[kSumWarps][32 * W + 1];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t first = (std::int64_t{blockIdx.x} * 32 + lane) * W;
  const int slices = static_cast<int>(gridDim.y), slice = static_cast<int>(blockIdx.y);
  float sums[kSums][W] = {};
  if (first < columns) {
    // Row by row the slices take turns, so that all of them read near each other. Four rows at a
    // time are loaded before they are used.
    constexpr int kAtOnce = 4;
    const int step = kSumWarps * slices;
    for (int row = slice * kSumWarps + warp; row < rows; row += kAtOnce * step) {
      Vector<T, W> xs[kAtOnce] = {}, dys[kAtOnce] = {};
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t at = (std::int64_t{row} + k * step) * columns + first;
        if (row + k * step >= rows) continue;
        xs[k] = read_once<W>(x + at);
        dys[k] = read_once<W>(dy + at);
      }
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (row + k * step < rows) terms(row + k * step, xs[k], dys[k], sums);
      }
    }
  }
  for (int s = 0; s < kSums; ++s) {
    __syncthreads();
    PACELINE_UNROLL
    for (int j = 0; j < W; ++j) shared[warp][lane * W + j] = sums[s][j];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 32 * W; i += 32 * kSumWarps) {
      const std::int64_t column = std::int64_t{blockIdx.x} * 32 * W + i;
      if (column >= columns) continue;
      float sum = 0;
      for (int k = 0; k < kSumWarps; ++k) sum += shared[k][i];
      partial[(std::int64_t{s} * slices + slice) * columns + column] = sum;
    }
  }
}

template <int kSums>
struct Outputs {
  float* to[kSums];
};

/// to[sum][column] = sum over slices; blockIdx.y is the sum.
template <int kSums>
__global__ void __launch_bounds__(32 * kSumWarps)
    add_slices(const float* partial, Outputs<kSums> out, int slices, int columns) {
  __shared__ float shared[kSumWarps][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  const float* from = partial + std::int64_t{blockIdx.y} * slices * columns;
  float sum = 0;
  if (column < columns) {
    for (int k = warp; k < slices; k += kSumWarps) sum += from[std::int64_t{k} * columns + column];
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= columns) return;
  for (int k = 1; k < kSumWarps; ++k) sum += shared[k][lane];
  PACELINE_UNROLL
  for (int s = 0; s < kSums; ++s) {
    if (static_cast<int>(blockIdx.y) == s) out.to[s][column] = sum;
  }
}

/// `partial`: kSums * column_slices(rows, columns) * columns floats of scratch.
template <int kSums, class T, class Terms>
void sum_columns(const Call& call, Stream stream, const Terms& terms, const T* x, const T* dy,
                 float* partial, const Outputs<kSums>& out) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  const auto slices = static_cast<unsigned>(column_slice_count(rows, columns));
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const dim3 grid(static_cast<unsigned>((columns + 32 * W - 1) / (32 * W)), slices);
    launch(column_slices<kSums, W, T, Terms>, grid, 32 * kSumWarps, 0, stream, terms, x, dy,
           partial, static_cast<int>(rows), static_cast<int>(columns));
  });
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32), kSums);
  launch(add_slices<kSums>, grid, 32 * kSumWarps, 0, stream, partial, out, static_cast<int>(slices),
         static_cast<int>(columns));
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/codec/device.hpp"

/// Products of thin matrices on CUDA cores, in fp32.
namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kProductThreads = 256, kProductDepth = 32;

/// C(i, j) = sum over k < depth of a(i, k) * b(k, j), for the block's tile of kTile x kTile
/// elements of C (16 or a multiple), which starts at (row, column); calls store(i, j, sum) for
/// those of its elements with i < rows and j < columns. a and b are asked for what exists only, in
/// an order in which neighbouring threads differ in k (kAlong...: true), or else in i and j.
template <int kTile, bool kAlongA, bool kAlongB, class A, class B, class Store>
__device__ void tile_product(std::int64_t row, std::int64_t column, std::int64_t rows,
                             std::int64_t columns, std::int64_t depth, const A& a, const B& b,
                             const Store& store) {
  constexpr int kOwn = kTile / 16, kD = kProductDepth;
  __shared__ float as[kD][kTile + 1], bs[kD][kTile + 1];
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  float sums[kOwn][kOwn] = {};
  for (std::int64_t start = 0; start < depth; start += kD) {
    for (int t = static_cast<int>(threadIdx.x); t < kTile * kD; t += kProductThreads) {
      const int i = kAlongA ? t / kD : t % kTile, ka = kAlongA ? t % kD : t / kTile;
      const int j = kAlongB ? t / kD : t % kTile, kb = kAlongB ? t % kD : t / kTile;
      as[ka][i] = row + i < rows && start + ka < depth ? a(row + i, start + ka) : 0.0F;
      bs[kb][j] = column + j < columns && start + kb < depth ? b(start + kb, column + j) : 0.0F;
    }
    __syncthreads();
    PACELINE_UNROLL
    for (int k = 0; k < kD; ++k) {
      float mine[kOwn];
      PACELINE_UNROLL
      for (int j = 0; j < kOwn; ++j) mine[j] = bs[k][x + 16 * j];
      PACELINE_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const float left = as[k][y + 16 * i];
        PACELINE_UNROLL
        for (int j = 0; j < kOwn; ++j) sums[i][j] += left * mine[j];
      }
    }
    __syncthreads();
  }
  PACELINE_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    PACELINE_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const std::int64_t r = row + y + 16 * i, c = column + x + 16 * j;
      if (r < rows && c < columns) store(r, c, sums[i][j]);
    }
  }
}

/// A block per tile of a matrix.
inline dim3 tiles_for(std::int64_t rows, std::int64_t columns, int tile) {
  return {static_cast<unsigned>((columns + tile - 1) / tile),
          static_cast<unsigned>((rows + tile - 1) / tile)};
}

/// A matrix in memory, row by row.
template <class T>
struct Matrix {
  T* data;
  std::int64_t columns;
  __device__ T& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
};

/// c = a b with the thin matrix b (columns of a x columns of c).
template <class T>
__global__ void __launch_bounds__(kProductThreads)
    times_thin(Matrix<const T> a, Matrix<const float> b, Matrix<float> c, std::int64_t rows) {
  tile_product<32, true, false>(
      std::int64_t{blockIdx.y} * 32, std::int64_t{blockIdx.x} * 32, rows, c.columns, a.columns,
      [&](std::int64_t i, std::int64_t k) { return static_cast<float>(a(i, k)); },
      [&](std::int64_t k, std::int64_t j) { return b(k, j); },
      [&](std::int64_t i, std::int64_t j, float sum) { c(i, j) = sum; });
}
template <class T>
void launch_times_thin(const T* a, const float* b, float* c, std::int64_t rows,
                       std::int64_t columns, std::int64_t rank, Stream stream) {
  launch(times_thin<T>, tiles_for(rows, rank, 32), kProductThreads, 0, stream,
         Matrix<const T>{a, columns}, Matrix<const float>{b, rank}, Matrix<float>{c, rank}, rows);
}

}  // namespace
}  // namespace paceline::kernels::PACELINE_TARGET

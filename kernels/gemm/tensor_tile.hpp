// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/gemm/tile.hpp"
#include "kernels/mma.hpp"

/// A weight gradient's product, op(a)^T op(b) with both factors' rows innermost, on tensor cores
/// (bf16 or fp16, fp32 sums) with an epilogue of the caller's: 128 x 128 results by 8 warps of
/// 64 x 32, 32 of the summed extent at a time, three parts under way through shared memory.
namespace paceline::kernels::PACELINE_TARGET {

constexpr int kTensorDepth = 32, kStages = 3;
constexpr int kStagePitch = kTile + 8;  // of the epilogue: rows 8 banks apart
constexpr std::size_t kTensorShared = std::size_t{2} * kStages * kTensorDepth * kTile * 2;
static_assert(kTensorShared >= std::size_t{64} * kStagePitch * sizeof(float));

/// Rows in whole groups of 8 elements, 16 bytes aligned.
template <class T>
struct TensorFactor {
  const T* data;
  std::int64_t stride;
  int rows, depth;
};

/// One factor's part in shared memory: [depth][16 groups of 8 rows], the groups of a depth permuted
/// so that the eight depths that ldmatrix reads at once lie in different banks.
template <class T>
__device__ T* group_of(T* part, int depth, int group) {
  return part + depth * kTile + (group ^ depth % 8) * 8;
}

template <class T>
__device__ void start_part(const TensorFactor<T>& f, int row, int depth, int thread, T* part) {
  PACELINE_UNROLL
  for (int i = thread; i < kTensorDepth * kTile / 8; i += kProductThreads) {
    const int d = i / 16, group = i % 16;
    const bool inside = depth + d < f.depth && row + group * 8 < f.rows;
    const T* from = inside ? f.data + (depth + d) * f.stride + row + group * 8 : f.data;
    cp_async<16>(group_of(part, d, group), from, inside);
  }
}

/// sums += the products of two parts; `row` and `column` of the warp's 64 x 32 results in them.
template <class T>
__device__ void add_parts(T* a, T* b, int row, int column, int lane, float (*sums)[4][4]) {
  const int of_eight = lane % 8, matrix = lane / 8;
  PACELINE_UNROLL
  for (int d = 0; d < kTensorDepth; d += 16) {
    std::uint32_t left[4][4], right[2][4];
    PACELINE_UNROLL
    for (int i = 0; i < 4; ++i)
      ldmatrix_x4_trans(left[i],
                        group_of(a, d + matrix / 2 * 8 + of_eight, row / 8 + 2 * i + matrix % 2));
    PACELINE_UNROLL
    for (int j = 0; j < 2; ++j)
      ldmatrix_x4_trans(
          right[j], group_of(b, d + matrix % 2 * 8 + of_eight, column / 8 + 2 * j + matrix / 2));
    PACELINE_UNROLL
    for (int i = 0; i < 4; ++i) {
      PACELINE_UNROLL
      for (int j = 0; j < 4; ++j)
        mma_m16n8k16<T>(sums[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
    }
  }
}

/// Calls epilogue(batch 0, row, column, sums of four columns) for the results. Sums pass through
/// shared memory, 64 rows at a time, so that a warp's calls are for one row's 128 columns.
template <class Epilogue>
__device__ void finish_tile(float (*sums)[4][4], int rows, int columns, const Epilogue& epilogue) {
  using Two = Vector<float, 2>;
  auto* stage = dynamic_shared<float>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int first_row = static_cast<int>(blockIdx.x) * kTile,
            first_column = static_cast<int>(blockIdx.y) * kTile;
  for (int half = 0; half < 2; ++half) {
    __syncthreads();
    if (warp / 4 == half) {
      PACELINE_UNROLL
      for (int i = 0; i < 16; ++i) {  // row group i / 4, column group i % 4
        float* to = stage + (i / 4 * 16 + lane / 4) * kStagePitch + warp % 4 * 32 + i % 4 * 8 +
                    lane % 4 * 2;
        const float* from = sums[i / 4][i % 4];
        *reinterpret_cast<Two*>(to) = {{from[0], from[1]}};
        *reinterpret_cast<Two*>(to + 8 * kStagePitch) = {{from[2], from[3]}};
      }
    }
    __syncthreads();
    for (int i = thread; i < 64 * kTile / 4; i += kProductThreads) {
      const int row = i / 32, column = i % 32 * 4;
      const int r = first_row + half * 64 + row, c = first_column + column;
      if (r < rows && c < columns) epilogue(0, r, c, stage + row * kStagePitch + column);
    }
  }
}

/// The block's tile; kTensorShared bytes of dynamic shared memory.
template <class T, class Epilogue>
__device__ void multiply_tensor_tile(const TensorFactor<T>& a, const TensorFactor<T>& b,
                                     const Epilogue& epilogue) {
  auto* shared = dynamic_shared<T>();
  constexpr int kPart = kTensorDepth * kTile;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int row = static_cast<int>(blockIdx.x) * kTile,
            column = static_cast<int>(blockIdx.y) * kTile;
  const int parts = (a.depth + kTensorDepth - 1) / kTensorDepth;
  const auto start = [&](int part) {
    T* to = shared + part % kStages * 2 * kPart;
    if (part < parts) {
      start_part(a, row, part * kTensorDepth, thread, to);
      start_part(b, column, part * kTensorDepth, thread, to + kPart);
    }
    cp_async_commit();  // an empty group keeps the count of those under way
  };
  float sums[4][4][4] = {};
  for (int part = 0; part < kStages - 1; ++part) start(part);
  for (int part = 0; part < parts; ++part) {
    cp_async_wait<kStages - 2>();
    __syncthreads();  // everybody's copies are here, and nobody reads the oldest part any more
    start(part + kStages - 1);
    T* from = shared + part % kStages * 2 * kPart;
    add_parts(from, from + kPart, warp / 4 * 64, warp % 4 * 32, thread % 32, sums);
  }
  cp_async_wait<0>();
  finish_tile(sums, a.rows, b.rows, epilogue);
}

}  // namespace paceline::kernels::PACELINE_TARGET

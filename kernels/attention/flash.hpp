// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the three tensor-core kernels of attention share: tiles in shared memory and products of a
/// warp's rows with them. Every product takes one of two forms, so that scores never leave
/// registers:
///   multiply_transposed  rows of a tile times the rows of another (Q K^T, dO V^T, K Q^T, V dO^T)
///   multiply_fragments   such a result, rounded, times the columns of a tile (P V, dS K, ...)
/// Accumulators are sums[m][n][i]: fragments D of kernels/mma.hpp, 16 m rows down, 8 n columns
/// right.
#include <type_traits>

#include "base/error.hpp"
#include "kernels/attention/blocks.hpp"
#include "kernels/mma.hpp"

namespace paceline::kernels::PACELINE_TARGET {

/// Elements of bf16 or fp16 that are read and written at once, 16 bytes.
constexpr int kChunk = 8;

/// Element at which a 16-byte chunk of a row stands in a tile of Columns elements a row. Eight rows
/// of a column of chunks lie in different banks, so ldmatrix reads them at once. For even c, chunk
/// c + i of a row is at (where chunk i is) ^ c * kChunk.
template <int Columns>
__device__ int swizzled(int row, int chunk) {
  static_assert(Columns % (8 * kChunk) == 0);
  return row * Columns + (chunk ^ (row % 8)) * kChunk;
}

/// Starts copying a tile; rows from `rows` on become zeros.
template <class T, int Rows, int Columns, int Threads>
__device__ void load_tile(T* tile, const T* from, std::int64_t stride, int rows) {
  constexpr int kRow = Columns / kChunk, kStep = Threads / kRow;  // chunks of a row; rows at a time
  static_assert(Rows % kStep == 0 && kStep % 8 == 0);
  int thread = thread_index();
  hide(thread);
  int row = thread / kRow;
  const int chunk = thread % kRow;
  tile += swizzled<Columns>(row, chunk);
  from += row * stride + chunk * kChunk;
  PACELINE_UNROLL
  for (int i = 0; i < Rows / kStep; ++i, row += kStep, from += kStep * stride)
    cp_async<16>(tile + i * kStep * Columns, from, row < rows);
}

/// Steps of multiply_transposed() of 128 columns that are unrolled: with more in sight ptxas loads
/// more ahead than registers hold, on sm_90 and sm_100 (kernels/ptxas.txt).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr int kStepsAhead = 2;
#else
constexpr int kStepsAhead = 8;
#endif

/// sums += A B^T for 16 M rows of `a` and 8 N rows of `b`, Columns elements deep.
template <class T, int M, int N, int Columns, int Steps = Columns == 64 ? 4 : kStepsAhead>
__device__ void multiply_transposed(float (&sums)[M][N][4], const T* a, const T* b) {
  const int lane = lane_index();
  int a_at = swizzled<Columns>(lane % 16, lane / 16);
  int b_at = swizzled<Columns>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  hide(a_at);
  hide(b_at);
  PACELINE_UNROLL_BY(Steps)
  for (int k = 0; k < Columns / 16; ++k) {
    std::uint32_t fa[M][4];
    PACELINE_UNROLL
    for (int m = 0; m < M; ++m) ldmatrix_x4(fa[m], a + m * 16 * Columns + (a_at ^ 2 * k * kChunk));
    PACELINE_UNROLL
    for (int n = 0; n < N; n += 2) {
      std::uint32_t fb[4];
      ldmatrix_x4(fb, b + n * 8 * Columns + (b_at ^ 2 * k * kChunk));
      PACELINE_UNROLL
      for (int m = 0; m < M; ++m) {
        mma_m16n8k16<T>(sums[m][n], fa[m], fb[0], fb[1]);
        mma_m16n8k16<T>(sums[m][n + 1], fa[m], fb[2], fb[3]);
      }
    }
  }
}

/// Accumulators rounded to T, as the fragments A of [16 M][8 N]: two of them side by side are one.
template <class T, int M, int N>
__device__ void round_fragments(std::uint32_t (&to)[M][N / 2][4], const float (&from)[M][N][4]) {
  PACELINE_UNROLL
  for (int m = 0; m < M; ++m) {
    PACELINE_UNROLL
    for (int n = 0; n < N; ++n) {
      to[m][n / 2][n % 2 * 2] = pack<T>(from[m][n][0], from[m][n][1]);
      to[m][n / 2][n % 2 * 2 + 1] = pack<T>(from[m][n][2], from[m][n][3]);
    }
  }
}

/// sums += P B for fragments P [16 M][16 K] and 16 K rows of `b`.
template <class T, int M, int K, int Columns>
__device__ void multiply_fragments(float (&sums)[M][Columns / 8][4],
                                   const std::uint32_t (&p)[M][K][4], const T* b) {
  int b_at = swizzled<Columns>(lane_index() % 16, lane_index() / 16);
  hide(b_at);
  PACELINE_UNROLL
  for (int k = 0; k < K; ++k) {
    PACELINE_UNROLL
    for (int n = 0; n < Columns / 8; n += 2) {
      std::uint32_t fb[4];
      ldmatrix_x4_trans(fb, b + k * 16 * Columns + (b_at ^ n * kChunk));
      PACELINE_UNROLL
      for (int m = 0; m < M; ++m) {
        mma_m16n8k16<T>(sums[m][n], p[m][k], fb[0], fb[1]);
        mma_m16n8k16<T>(sums[m][n + 1], p[m][k], fb[2], fb[3]);
      }
    }
  }
}

/// Scores outside their row's span become -infinity. `spans`: of the warp's rows, in columns as
/// `first` counts them.
template <int M, int N>
__device__ void mask_scores(float (&scores)[M][N][4], const Span* spans, int first) {
  const int group = lane_index() / 4, column = first + lane_index() % 4 * 2;
  PACELINE_UNROLL
  for (int m = 0; m < M; ++m) {
    PACELINE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Span span = spans[m * 16 + i / 2 * 8 + group];
      PACELINE_UNROLL
      for (int n = 0; n < N; ++n) {
        const int at = column + n * 8 + i % 2;
        if (at < span.begin || at >= span.end) scores[m][n][i] = -INFINITY;
      }
    }
  }
}

/// Writes a warp's first `rows` rows of sums times a factor for each (rows 16 m + g and 16 m + g +
/// 8 of a lane), through its own part of a tile so that whole chunks go out.
template <class T, int M, int Columns>
__device__ void store_rows(T* to, std::int64_t stride, int rows,
                           const float (&sums)[M][Columns / 8][4], const float (&factors)[M][2],
                           T* tile) {
  const int group = lane_index() / 4, pair = lane_index() % 4;
  PACELINE_UNROLL
  for (int m = 0; m < M; ++m) {
    PACELINE_UNROLL
    for (int n = 0; n < Columns / 8; ++n) {
      PACELINE_UNROLL
      for (int half = 0; half < 2; ++half) {
        const float* pairs = &sums[m][n][2 * half];
        const std::uint32_t word =
            pack<T>(pairs[0] * factors[m][half], pairs[1] * factors[m][half]);
        T* at = tile + swizzled<Columns>(m * 16 + half * 8 + group, n) + 2 * pair;
        *reinterpret_cast<std::uint32_t*>(at) = word;
      }
    }
  }
  __syncwarp();
  for (int i = lane_index(); i < M * 16 * Columns / kChunk; i += 32) {
    const int row = i / (Columns / kChunk), chunk = i % (Columns / kChunk);
    if (row >= rows) break;
    __stcs(reinterpret_cast<uint4*>(to + row * stride + chunk * kChunk),
           *reinterpret_cast<const uint4*>(tile + swizzled<Columns>(row, chunk)));
  }
}

/// Calls start(T(), std::integral_constant<int, Columns>()) for the call's type and head_dim.
template <class Start>
void start_flash(const Call& call, const Start& start) {
  const std::int64_t columns = call["head_dim"];
  const auto of_type = [&](auto type) {
    if (columns == 64) return start(type, std::integral_constant<int, 64>());
    PACELINE_CHECK(columns == 128);
    start(type, std::integral_constant<int, 128>());
  };
  if (call.c.type == DType::Bf16) return of_type(numeric::bf16());
  PACELINE_CHECK(call.c.type == DType::F16);
  of_type(numeric::fp16());
}

}  // namespace paceline::kernels::PACELINE_TARGET

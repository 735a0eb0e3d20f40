// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/vectors.hpp"

/// A product of matrices on CUDA cores, as a tile per block with an epilogue of the caller's: 128 x
/// 128 results by 256 threads, 16 of k at a time through shared memory (two buffers), 64 sums in
/// registers per thread.
namespace paceline::kernels::PACELINE_TARGET {

constexpr int kTile = 128, kDepth = 16, kProductThreads = 256;
constexpr int kPitch = kTile + 4;  // keeps rows of 16 bytes aligned, off each other's banks

/// A factor of a product: `rows` of the result's side, `depth` of the summed extent. Inner says
/// which of the two is innermost in memory; aligned, that vectors of 16 bytes may be read.
enum class Inner { Depth, Rows };
template <class T, Inner I>
struct TileFactor {
  const T* data;
  std::int64_t stride, step;
  int rows, depth;
  bool aligned;
};

/// The thread's eight elements of the 128 rows x 16 deep part at (row, depth), to registers.
template <class T>
__device__ void fetch(const TileFactor<T, Inner::Depth>& f, std::int64_t batch, int row, int depth,
                      int thread, float* to) {
  row += thread % kTile;
  depth += thread / kTile * 8;
  const int valid = row < f.rows ? f.depth - depth : 0;
  read_floats<8>(f.data + batch * f.step + row * f.stride + depth, valid, f.aligned, to);
}
template <class T>
__device__ void fetch(const TileFactor<T, Inner::Rows>& f, std::int64_t batch, int row, int depth,
                      int thread, float* to) {
  row += thread % 16 * 4;
  depth += thread / 16;
  const T* from = f.data + batch * f.step + depth * f.stride + row;
  const bool inside = depth < f.depth;
  read_floats<4>(from, inside ? f.rows - row : 0, f.aligned, to);
  read_floats<4>(from + 64, inside ? f.rows - row - 64 : 0, f.aligned, to + 4);
}

/// From registers to a buffer of [depth][row].
template <class T>
__device__ void keep(const TileFactor<T, Inner::Depth>&, const float* from, int thread,
                     float (*buffer)[kPitch]) {
  PACELINE_UNROLL
  for (int i = 0; i < 8; ++i) buffer[thread / kTile * 8 + i][thread % kTile] = from[i];
}
template <class T>
__device__ void keep(const TileFactor<T, Inner::Rows>&, const float* from, int thread,
                     float (*buffer)[kPitch]) {
  using Four = Vector<float, 4>;
  float* row = &buffer[thread / 16][thread % 16 * 4];
  *reinterpret_cast<Four*>(row) = {{from[0], from[1], from[2], from[3]}};
  *reinterpret_cast<Four*>(row + 64) = {{from[4], from[5], from[6], from[7]}};
}

/// sums += the outer products of a buffer's 16 rows; a thread owns rows 4y … and 64 + 4y … and
/// columns 4x … and 64 + 4x … of the tile, x and y its place in 16 x 16.
__device__ inline void add_buffer(const float (*a)[kPitch], const float (*b)[kPitch], int thread,
                                  float (*sums)[8]) {
  using Four = Vector<float, 4>;
  const int x = thread % 16 * 4, y = thread / 16 * 4;
  for (int d = 0; d < kDepth; ++d) {
    const Four a0 = *reinterpret_cast<const Four*>(&a[d][y]),
               a1 = *reinterpret_cast<const Four*>(&a[d][64 + y]),
               b0 = *reinterpret_cast<const Four*>(&b[d][x]),
               b1 = *reinterpret_cast<const Four*>(&b[d][64 + x]);
    PACELINE_UNROLL
    for (int i = 0; i < 8; ++i) {
      const float left = i < 4 ? a0.at[i % 4] : a1.at[i % 4];
      PACELINE_UNROLL
      for (int j = 0; j < 8; ++j) sums[i][j] += left * (j < 4 ? b0.at[j % 4] : b1.at[j % 4]);
    }
  }
}

/// Calls epilogue(batch, row, column, sums of four columns) for what lies inside the result; the
/// last columns may lie beyond it.
template <class A, class B, class Epilogue>
__device__ void multiply_tile(const A& a, const B& b, std::int64_t batch,
                              const Epilogue& epilogue) {
  __shared__ float a_buffer[2][kDepth][kPitch], b_buffer[2][kDepth][kPitch];
  const int thread = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.x) * kTile,
            column = static_cast<int>(blockIdx.y) * kTile;
  float a_next[8], b_next[8], sums[8][8] = {};
  const int parts = (a.depth + kDepth - 1) / kDepth;
  for (int part = 0; part <= parts; ++part) {
    if (part < parts) {
      fetch(a, batch, row, part * kDepth, thread, a_next);
      fetch(b, batch, column, part * kDepth, thread, b_next);
    }
    if (part > 0) add_buffer(a_buffer[(part - 1) % 2], b_buffer[(part - 1) % 2], thread, sums);
    if (part < parts) {
      keep(a, a_next, thread, a_buffer[part % 2]);
      keep(b, b_next, thread, b_buffer[part % 2]);
    }
    __syncthreads();
  }
  PACELINE_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int r = row + i / 4 * 64 + thread / 16 * 4 + i % 4;
    PACELINE_UNROLL
    for (int j = 0; j < 8; j += 4) {
      const int c = column + j * 16 + thread % 16 * 4;
      if (r < a.rows && c < b.rows) epilogue(batch, r, c, &sums[i][j]);
    }
  }
}

/// Blocks of a product: rows, columns, batch.
inline dim3 tile_grid(std::int64_t m, std::int64_t n, std::int64_t batch) {
  const auto tiles = [](std::int64_t extent) {
    return static_cast<unsigned>((extent + kTile - 1) / kTile);
  };
  return dim3(tiles(m), tiles(n), static_cast<unsigned>(batch < 65535 ? batch : 65535));
}

}  // namespace paceline::kernels::PACELINE_TARGET

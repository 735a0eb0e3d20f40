// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/packs.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kHeld = 2;

template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    gather(const T* table, const int* tokens, T* y, int columns) {
  const T* from = table + std::int64_t{tokens[blockIdx.x]} * columns;
  const Held<W, kHeld, 1, T> held(Inputs<T, 1>{{from}}, first_of_tile(kHeld), blockDim.x,
                                  columns / W);
  held.each([&](std::int64_t at, const Vector<T, W>(&p)[1]) {
    write_once(y + std::int64_t{blockIdx.x} * columns + at, p[0]);
  });
}

/// first[token]: the first row with it; uses[token]: how many there are. Both for tokens that
/// occur.
struct Index {
  int *first, *uses;
};
__global__ void __launch_bounds__(kTileThreads) clear(const int* tokens, Index index, int rows) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= static_cast<unsigned>(rows)) return;
  index.first[tokens[row]] = rows;
  index.uses[tokens[row]] = 0;
}
__global__ void __launch_bounds__(kTileThreads) find(const int* tokens, Index index, int rows) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= static_cast<unsigned>(rows)) return;
  atomicMin(&index.first[tokens[row]], static_cast<int>(row));
  atomicAdd(&index.uses[tokens[row]], 1);
}

/// Appends to list[count ...], in order, the rows from `base` on (one per thread of the block) that
/// have the token; returns the new count. `counts`: shared, one per warp.
__device__ inline int collect(const int* tokens, int token, int base, int rows, int* list,
                              int count, int* counts) {
  const int row = base + static_cast<int>(threadIdx.x);
  const bool found = row < rows && tokens[row] == token;
  const std::uint32_t votes = __ballot_sync(0xffffffffU, found ? 1 : 0);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  int before = 0, all = 0;
  for (unsigned k = 0; k < warps; ++k) {
    if (k < warp) before += counts[k];
    all += counts[k];
  }
  if (found) list[count + before + __popc(votes & ((1U << lane) - 1))] = row;
  return count + all;
}

/// Adds the listed rows of dy to sums, several loads under way at once.
template <int W, class T>
__device__ void add_listed(const T* dy, int columns, const int* list, int count, float (&sums)[W]) {
  constexpr int kAtOnce = 4;
  for (int k = 0; k < count; k += kAtOnce) {
    Vector<T, W> packs[kAtOnce] = {};
    PACELINE_UNROLL
    for (int a = 0; a < kAtOnce; ++a) {
      if (k + a < count) packs[a] = read_once<W>(dy + std::int64_t{list[k + a]} * columns);
    }
    PACELINE_UNROLL
    for (int a = 0; a < kAtOnce; ++a) {
      for (int j = 0; j < W; ++j) sums[j] += static_cast<float>(packs[a].at[j]);
    }
  }
}

/// blockIdx.x: a row, which works if it is the first with its token; one pack of columns a thread.
template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    scatter_add(const int* tokens, Index index, const T* dy, float* dtable, int rows, int columns) {
  __shared__ int list[2 * kTileThreads], counts[32];
  const int row = static_cast<int>(blockIdx.x), token = tokens[row];
  if (index.first[token] != row) return;
  const int uses = index.uses[token];
  const std::int64_t column = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * W;
  const int step = static_cast<int>(blockDim.x);
  float sums[W] = {};
  if (threadIdx.x == 0) list[0] = row;
  int count = 1, found = 1, base = row + 1;
  while (true) {
    while (found < uses && count <= step) {
      const int more = collect(tokens, token, base, rows, list, count, counts);
      found += more - count;
      count = more;
      base += step;
    }
    __syncthreads();
    if (column < columns) add_listed<W>(dy + column, columns, list, count, sums);
    if (found == uses) break;
    __syncthreads();
    count = 0;
  }
  if (column >= columns) return;
  float* to = dtable + std::int64_t{token} * columns + column;
  Vector<float, W> old = read_once<W>(to);
  for (int j = 0; j < W; ++j) old.at[j] += sums[j];
  write_once(to, old);
}

template <class T>
void launch_gather(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(call["rows"], columns / W, kHeld);
    launch(gather<W, T>, t.grid, t.block, 0, stream, call.at<T>(0), call.at<int>(1), call.at<T>(2),
           static_cast<int>(columns));
  });
}
template <class T>
void launch_scatter_add(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  const auto blocks = static_cast<unsigned>((rows + kTileThreads - 1) / kTileThreads);
  const Index index{call.at<int>(3), call.at<int>(4)};
  launch(clear, blocks, kTileThreads, 0, stream, call.at<int>(0), index, static_cast<int>(rows));
  launch(find, blocks, kTileThreads, 0, stream, call.at<int>(0), index, static_cast<int>(rows));
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(rows, columns / W, 1);
    launch(scatter_add<W, T>, t.grid, t.block, 0, stream, call.at<int>(0), index, call.at<T>(1),
           call.at<float>(2), static_cast<int>(rows), static_cast<int>(columns));
  });
}

}  // namespace

void embedding_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_gather, s); }
void embedding_weight_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_scatter_add, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

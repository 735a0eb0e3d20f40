// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/packs.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kHeld = 4;
constexpr unsigned kThreads = 512;

struct Rows {
  const int* targets;
  float *lse, *loss;
};

template <int W, class T>
__device__ MaxSum with_pack(MaxSum sum, const Vector<T, W>& p) {
  float max = sum.max;
  for (int j = 0; j < W; ++j) max = fmaxf(max, static_cast<float>(p.at[j]));
  float total = sum.sum * numeric::exp_of(sum.max - max);
  for (int j = 0; j < W; ++j) total += numeric::exp_of(static_cast<float>(p.at[j]) - max);
  return {max, total};
}

/// One block per row, which is read once.
template <int W, class T>
__global__ void __launch_bounds__(kThreads)
    forward(const T* logits, Rows rows, std::int64_t first, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = blockIdx.x;
  const Inputs<T, 1> in{{logits + row * columns}};
  MaxSum mine = nothing_summed();
  const int packs = columns / W, step = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += kHeld * step) {
    const Held<W, kHeld, 1, T> held(in, i, step, packs);
    held.each([&](std::int64_t, const Vector<T, W>(&p)[1]) { mine = with_pack(mine, p[0]); });
  }
  const float max = block_max(mine.max, scratch);
  const float sum = block_sum(mine.sum * numeric::exp_of(mine.max - max), scratch);
  if (threadIdx.x != 0) return;
  const std::int64_t target = rows.targets[row] - first;
  const float picked =
      target >= 0 && target < columns ? static_cast<float>(in.from[0][target]) : 0.0F;
  RowLoss before{};
  if (first > 0) before = {rows.lse[row], rows.loss[row]};
  const RowLoss after = next_loss({max, sum}, picked, first > 0, before);
  rows.lse[row] = after.lse;
  rows.loss[row] = after.loss;
}

template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    input_gradient(const T* logits, const int* targets, const float* lses, const float* dlosses,
                   T* dlogits, std::int64_t first, int columns) {
  const std::int64_t row = blockIdx.x;
  const Held<W, kHeld, 1, T> held(Inputs<T, 1>{{logits + row * columns}}, first_of_tile(kHeld),
                                  blockDim.x, columns / W);
  const float lse = lses[row], dloss = dlosses[row];
  const std::int64_t target = targets[row] - first;
  held.each([&](std::int64_t at, const Vector<T, W>(&p)[1]) {
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] =
          T(cross_entropy_slope(static_cast<float>(p[0].at[j]), lse, at + j == target, dloss));
    write_once(dlogits + row * columns + at, out);
  });
}

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const Slice slice = slice_of(call.c);
  by_width<T>(call, slice.columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    constexpr std::int64_t kWarp = 32 * kHeld;
    const std::int64_t warps = (slice.columns / W + kWarp - 1) / kWarp;
    const auto threads = static_cast<unsigned>(std::min<std::int64_t>(32 * warps, kThreads));
    launch(forward<W, T>, static_cast<unsigned>(call["rows"]), threads, 0, stream, call.at<T>(0),
           Rows{call.at<int>(1), call.at<float>(3), call.at<float>(2)}, slice.first,
           static_cast<int>(slice.columns));
  });
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  const Slice slice = slice_of(call.c);
  by_width<T>(call, slice.columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(call["rows"], slice.columns / W, kHeld);
    launch(input_gradient<W, T>, t.grid, t.block, 0, stream, call.at<T>(0), call.at<int>(1),
           call.at<float>(2), call.at<float>(3), call.at<T>(4), slice.first,
           static_cast<int>(slice.columns));
  });
}

}  // namespace

void cross_entropy_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void cross_entropy_input_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_input_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

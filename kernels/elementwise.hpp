// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/packs.hpp"

/// Device code: one output array of input arrays, element by element.
namespace paceline::kernels::PACELINE_TARGET {

inline constexpr int kElementwiseHeld = 4;

/// to[i] = T(f(values of the inputs at i)); f: `float operator()(const float (&)[kInputs])`.
template <int W, int kInputs, class T, class F>
__global__ void __launch_bounds__(kTileThreads)
    elementwise(F f, Inputs<T, kInputs> in, T* to, std::int64_t count) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * kElementwiseHeld + threadIdx.x;
  const std::int64_t packs = count / W;
  const Held<W, kElementwiseHeld, kInputs, T> held(in, first, blockDim.x, packs);
  held.each([&](std::int64_t at, const Vector<T, W>(&p)[kInputs]) {
    Vector<T, W> out;
    PACELINE_UNROLL
    for (int j = 0; j < W; ++j) {
      float values[kInputs];
      for (int a = 0; a < kInputs; ++a) values[a] = static_cast<float>(p[a].at[j]);
      out.at[j] = T(f(values));
    }
    write_once(to + at, out);
  });
  const std::int64_t rest = packs * W + threadIdx.x;  // fewer than W, of which no pack is left
  if (blockIdx.x != 0 || rest >= count) return;
  float values[kInputs];
  for (int a = 0; a < kInputs; ++a) values[a] = static_cast<float>(in.from[a][rest]);
  to[rest] = T(f(values));
}

template <int kInputs, class T, class F>
void launch_elementwise(const Call& call, Stream stream, const F& f, const Inputs<T, kInputs>& in,
                        T* to, std::int64_t count) {
  by_width<T>(call, kWide<T>, [&](auto width) {  // any count: the rest is done one by one
    constexpr int W = decltype(width)::value;
    constexpr std::int64_t kTile = std::int64_t{kTileThreads} * kElementwiseHeld * W;
    const auto blocks = static_cast<unsigned>((count + kTile - 1) / kTile);
    launch(elementwise<W, kInputs, T, F>, blocks, kTileThreads, 0, stream, f, in, to, count);
  });
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"
#include "kernels/packs.hpp"
#include "kernels/rope/rope.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

struct Angles {
  const float *cosine, *sine;
};

/// blockIdx.x: a row; its threads have one pack of first and one of second elements each. The heads
/// of a row find its cosines and sines in the cache.
template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    rotate(const T* x, Angles angles, T* y, int heads, int half, float direction) {
  const unsigned i = blockIdx.y * blockDim.x + threadIdx.x;
  const auto packs = static_cast<unsigned>(half / W);
  const unsigned head = i / packs, column = i % packs * W;
  if (head >= static_cast<unsigned>(heads)) return;
  const std::int64_t at = (std::int64_t{blockIdx.x} * heads + head) * 2 * half + column;
  const std::int64_t angle = std::int64_t{blockIdx.x} * half + column;
  const Vector<T, W> a = read_once<W>(x + at), b = read_once<W>(x + at + half);
  const Vector<float, W> cosine = load<W>(angles.cosine + angle),
                         sine = load<W>(angles.sine + angle);
  Vector<T, W> first, second;
  for (int j = 0; j < W; ++j) {
    const Pair turned = rotated({static_cast<float>(a.at[j]), static_cast<float>(b.at[j])},
                                cosine.at[j], direction * sine.at[j]);
    first.at[j] = T(turned.first);
    second.at[j] = T(turned.second);
  }
  write_once(y + at, first);
  write_once(y + at + half, second);
}

template <class T>
void launch_rotate(const Call& call, Stream stream, float direction) {
  const std::int64_t heads = call["heads"], half = call["head_dim"] / 2;
  by_width<T>(call, half, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(call["rows"], heads * half / W, 1);
    launch(rotate<W, T>, t.grid, t.block, 0, stream, call.at<T>(0),
           Angles{call.at<float>(1), call.at<float>(2)}, call.at<T>(3), static_cast<int>(heads),
           static_cast<int>(half), direction);
  });
}

}  // namespace

void rope_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_rotate, s, 1); }
void rope_input_gradient(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_rotate, s, -1); }

}  // namespace paceline::kernels::PACELINE_TARGET

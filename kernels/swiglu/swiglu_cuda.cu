// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"
#include "kernels/packs.hpp"
#include "kernels/swiglu/swiglu.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kHeld = 2;

template <int W, class T>
__global__ void __launch_bounds__(kTileThreads) forward(const T* x, T* y, int columns) {
  const std::int64_t start = std::int64_t{blockIdx.x} * columns;
  const T* gate = x + 2 * start;
  const Held<W, kHeld, 2, T> held(Inputs<T, 2>{{gate, gate + columns}}, first_of_tile(kHeld),
                                  blockDim.x, columns / W);
  held.each([&](std::int64_t at, const Vector<T, W>(&p)[2]) {
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(swiglu(static_cast<float>(p[0].at[j]), static_cast<float>(p[1].at[j])));
    write_once(y + start + at, out);
  });
}

template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    input_gradient(const T* x, const T* dy, T* dx, int columns) {
  const std::int64_t start = std::int64_t{blockIdx.x} * columns;
  const T* gate = x + 2 * start;
  const Held<W, kHeld, 3, T> held(Inputs<T, 3>{{gate, gate + columns, dy + start}},
                                  first_of_tile(kHeld), blockDim.x, columns / W);
  held.each([&](std::int64_t at, const Vector<T, W>(&p)[3]) {
    Vector<T, W> gates, ups;
    for (int j = 0; j < W; ++j) {
      const SwigluSlopes slopes =
          swiglu_slopes(static_cast<float>(p[0].at[j]), static_cast<float>(p[1].at[j]));
      const auto g = static_cast<float>(p[2].at[j]);
      gates.at[j] = T(g * slopes.gate);
      ups.at[j] = T(g * slopes.up);
    }
    write_once(dx + 2 * start + at, gates);
    write_once(dx + 2 * start + columns + at, ups);
  });
}

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(call["rows"], columns / W, kHeld);
    launch(forward<W, T>, t.grid, t.block, 0, stream, call.at<T>(0), call.at<T>(1),
           static_cast<int>(columns));
  });
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(call["rows"], columns / W, kHeld);
    launch(input_gradient<W, T>, t.grid, t.block, 0, stream, call.at<T>(0), call.at<T>(1),
           call.at<T>(2), static_cast<int>(columns));
  });
}

}  // namespace

void swiglu_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void swiglu_input_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_input_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

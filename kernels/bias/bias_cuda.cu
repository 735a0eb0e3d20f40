// SPDX-License-Identifier: Apache-2.0
#include "kernels/bias/bias.hpp"
#include "kernels/column_sums.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kHeld = 4;  // packs of a thread

template <int W, class T>
__global__ void __launch_bounds__(kTileThreads)
    forward(Inputs<T, 1> in, const float* b, T* y, std::int64_t columns) {
  const std::int64_t start = std::int64_t{blockIdx.x} * columns;
  in.from[0] += start;
  const Held<W, kHeld, 1, T> x(in, first_of_tile(kHeld), blockDim.x, columns / W);
  x.each([&](std::int64_t column, const Vector<T, W>(&p)[1]) {
    const Vector<float, W> bias = load<W>(b + column);
    Vector<T, W> out;
    for (int j = 0; j < W; ++j) out.at[j] = T(static_cast<float>(p[0].at[j]) + bias.at[j]);
    write_once(y + start + column, out);
  });
}

struct Terms {
  template <class T, int W>
  __device__ void operator()(std::int64_t, const Vector<T, W>&, const Vector<T, W>& dy,
                             float (&sums)[1][W]) const {
    for (int j = 0; j < W; ++j) sums[0][j] += static_cast<float>(dy.at[j]);
  }
};

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = tiles_of(rows, columns / W, kHeld);
    launch(forward<W, T>, t.grid, t.block, 0, stream, Inputs<T, 1>{{call.at<T>(0)}},
           call.at<float>(1), call.at<T>(2), columns);
  });
}
template <class T>
void launch_weight_gradient(const Call& call, Stream stream) {
  sum_columns<1>(call, stream, Terms{}, call.at<T>(0), call.at<T>(0), call.at<float>(2),
                 Outputs<1>{{call.at<float>(1)}});
}

}  // namespace

void bias_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void bias_weight_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_weight_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

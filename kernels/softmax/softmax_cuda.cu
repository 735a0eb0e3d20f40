// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/numeric/elementary.hpp"
#include "kernels/device_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/softmax/softmax.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    forward(Inputs<T, 1> in, T* y, std::int64_t rows, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 1, T> x(in, row * columns, columns);
  float top = -FLT_MAX, sum = 0;
  x.each([&](std::int64_t, const Vector<T, W>(&p)[1]) {
    for (int j = 0; j < W; ++j) top = fmaxf(top, static_cast<float>(p[0].at[j]));
  });
  top = row_max(top, scratch);
  x.each([&](std::int64_t, const Vector<T, W>(&p)[1]) {
    for (int j = 0; j < W; ++j) sum += numeric::exp_of(static_cast<float>(p[0].at[j]) - top);
  });
  const float inverse = 1 / row_sum(sum, scratch);
  x.each([&](std::int64_t column, const Vector<T, W>(&p)[1]) {
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(numeric::exp_of(static_cast<float>(p[0].at[j]) - top) * inverse);
    write_once(y + row * columns + column, out);
  });
}

/// in: y, dy
template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    input_gradient(Inputs<T, 2> in, T* dx, std::int64_t rows, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 2, T> both(in, row * columns, columns);
  float dot = 0;
  both.each([&](std::int64_t, const Vector<T, W>(&p)[2]) {
    for (int j = 0; j < W; ++j)
      dot += static_cast<float>(p[0].at[j]) * static_cast<float>(p[1].at[j]);
  });
  dot = row_sum(dot, scratch);
  both.each([&](std::int64_t column, const Vector<T, W>(&p)[2]) {
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(static_cast<float>(p[0].at[j]) * (static_cast<float>(p[1].at[j]) - dot));
    write_once(dx + row * columns + column, out);
  });
}

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(forward<W, T>, t.grid, t.block, 0, stream, Inputs<T, 1>{{call.at<T>(0)}}, call.at<T>(1),
           rows, static_cast<int>(columns));
  });
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(input_gradient<W, T>, t.grid, t.block, 0, stream,
           Inputs<T, 2>{{call.at<T>(0), call.at<T>(1)}}, call.at<T>(2), rows,
           static_cast<int>(columns));
  });
}

}  // namespace

void softmax_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void softmax_input_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_input_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_sums.hpp"
#include "kernels/device_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rmsnorm/rmsnorm.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    forward(Inputs<T, 1> in, const float* w, T* y, float* r, std::int64_t rows, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 1, T> x(in, row * columns, columns);
  float squares = 0;
  x.each([&](std::int64_t, const Vector<T, W>(&p)[1]) {
    for (int j = 0; j < W; ++j) {
      const auto value = static_cast<float>(p[0].at[j]);
      squares += value * value;
    }
  });
  const float inverse = rms_inverse(row_sum(squares, scratch) / static_cast<float>(columns));
  x.each([&](std::int64_t column, const Vector<T, W>(&p)[1]) {
    const Vector<float, W> weight = load<W>(w + column);
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(static_cast<float>(p[0].at[j]) * inverse * weight.at[j]);
    write_once(y + row * columns + column, out);
  });
  if (threadIdx.x == 0) r[row] = inverse;
}

/// in: x, dy
template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    input_gradient(Inputs<T, 2> in, const float* w, const float* r, T* dx, std::int64_t rows,
                   int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 2, T> both(in, row * columns, columns);
  float dot = 0;
  both.each([&](std::int64_t column, const Vector<T, W>(&p)[2]) {
    const Vector<float, W> weight = load<W>(w + column);
    for (int j = 0; j < W; ++j)
      dot += static_cast<float>(p[1].at[j]) * weight.at[j] * static_cast<float>(p[0].at[j]);
  });
  const float inverse = r[row];
  const float share = rmsnorm_share(row_sum(dot, scratch) / static_cast<float>(columns), inverse);
  both.each([&](std::int64_t column, const Vector<T, W>(&p)[2]) {
    const Vector<float, W> weight = load<W>(w + column);
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(rmsnorm_dx(static_cast<float>(p[1].at[j]), weight.at[j],
                               static_cast<float>(p[0].at[j]), inverse, share));
    write_once(dx + row * columns + column, out);
  });
}

struct WeightTerms {
  const float* r;
  template <class T, int W>
  __device__ void operator()(std::int64_t row, const Vector<T, W>& x, const Vector<T, W>& dy,
                             float (&sums)[1][W]) const {
    const float inverse = r[row];
    for (int j = 0; j < W; ++j)
      sums[0][j] += static_cast<float>(dy.at[j]) * static_cast<float>(x.at[j]) * inverse;
  }
};

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(forward<W, T>, t.grid, t.block, 0, stream, Inputs<T, 1>{{call.at<T>(0)}},
           call.at<float>(1), call.at<T>(2), call.at<float>(3), rows, static_cast<int>(columns));
  });
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(input_gradient<W, T>, t.grid, t.block, 0, stream,
           Inputs<T, 2>{{call.at<T>(0), call.at<T>(3)}}, call.at<float>(1), call.at<float>(2),
           call.at<T>(4), rows, static_cast<int>(columns));
  });
}
template <class T>
void launch_weight_gradient(const Call& call, Stream stream) {
  sum_columns<1>(call, stream, WeightTerms{call.at<float>(1)}, call.at<T>(0), call.at<T>(2),
                 call.at<float>(4), Outputs<1>{{call.at<float>(3)}});
}

}  // namespace

void rmsnorm_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void rmsnorm_input_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_input_gradient, s);
}
void rmsnorm_weight_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_weight_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_sums.hpp"
#include "kernels/device_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/layernorm/layernorm.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

struct Parameters {
  const float *w, *b;
};
struct Statistics {
  float *mean, *r;
};

template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    forward(Inputs<T, 1> in, Parameters parameters, T* y, Statistics out, std::int64_t rows,
            int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 1, T> x(in, row * columns, columns);
  float sum = 0, squares = 0;
  x.each([&](std::int64_t, const Vector<T, W>(&p)[1]) {
    for (int j = 0; j < W; ++j) sum += static_cast<float>(p[0].at[j]);
  });
  const float mean = row_sum(sum, scratch) / static_cast<float>(columns);
  x.each([&](std::int64_t, const Vector<T, W>(&p)[1]) {
    for (int j = 0; j < W; ++j) {
      const float centred = static_cast<float>(p[0].at[j]) - mean;
      squares += centred * centred;
    }
  });
  const float r = layernorm_inverse(row_sum(squares, scratch) / static_cast<float>(columns));
  x.each([&](std::int64_t column, const Vector<T, W>(&p)[1]) {
    const Vector<float, W> w = load<W>(parameters.w + column), b = load<W>(parameters.b + column);
    Vector<T, W> result;
    for (int j = 0; j < W; ++j)
      result.at[j] = T((static_cast<float>(p[0].at[j]) - mean) * r * w.at[j] + b.at[j]);
    write_once(y + row * columns + column, result);
  });
  if (threadIdx.x != 0) return;
  out.mean[row] = mean;
  out.r[row] = r;
}

/// in: x, dy
template <int W, class T>
__global__ void __launch_bounds__(kRowThreads)
    input_gradient(Inputs<T, 2> in, const float* w, const float* means, const float* rs, T* dx,
                   std::int64_t rows, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = row_of_thread();
  if (row >= rows) return;
  const Row<W, 2, T> both(in, row * columns, columns);
  const float mean = means[row], r = rs[row];
  float sum_g = 0, sum_gx = 0;
  both.each([&](std::int64_t column, const Vector<T, W>(&p)[2]) {
    const Vector<float, W> weight = load<W>(w + column);
    for (int j = 0; j < W; ++j) {
      const float g = static_cast<float>(p[1].at[j]) * weight.at[j];
      sum_g += g;
      sum_gx += g * ((static_cast<float>(p[0].at[j]) - mean) * r);
    }
  });
  const float mean_g = row_sum(sum_g, scratch) / static_cast<float>(columns);
  const float mean_gx = row_sum(sum_gx, scratch) / static_cast<float>(columns);
  both.each([&](std::int64_t column, const Vector<T, W>(&p)[2]) {
    const Vector<float, W> weight = load<W>(w + column);
    Vector<T, W> out;
    for (int j = 0; j < W; ++j)
      out.at[j] = T(layernorm_dx(static_cast<float>(p[1].at[j]) * weight.at[j],
                                 (static_cast<float>(p[0].at[j]) - mean) * r, r, mean_g, mean_gx));
    write_once(dx + row * columns + column, out);
  });
}

struct WeightTerms {
  const float *mean, *r;
  template <class T, int W>
  __device__ void operator()(std::int64_t row, const Vector<T, W>& x, const Vector<T, W>& dy,
                             float (&sums)[2][W]) const {
    const float m = mean[row], inverse = r[row];
    for (int j = 0; j < W; ++j) {
      const auto g = static_cast<float>(dy.at[j]);
      sums[0][j] += g * ((static_cast<float>(x.at[j]) - m) * inverse);
      sums[1][j] += g;
    }
  }
};

template <class T>
void launch_forward(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(forward<W, T>, t.grid, t.block, 0, stream, Inputs<T, 1>{{call.at<T>(0)}},
           Parameters{call.at<float>(1), call.at<float>(2)}, call.at<T>(3),
           Statistics{call.at<float>(4), call.at<float>(5)}, rows, static_cast<int>(columns));
  });
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  by_width<T>(call, columns, [&](auto width) {
    constexpr int W = decltype(width)::value;
    const Tiles t = row_blocks(rows, columns / W);
    launch(input_gradient<W, T>, t.grid, t.block, 0, stream,
           Inputs<T, 2>{{call.at<T>(0), call.at<T>(4)}}, call.at<float>(1), call.at<float>(2),
           call.at<float>(3), call.at<T>(5), rows, static_cast<int>(columns));
  });
}
template <class T>
void launch_weight_gradient(const Call& call, Stream stream) {
  sum_columns<2>(call, stream, WeightTerms{call.at<float>(1), call.at<float>(2)}, call.at<T>(0),
                 call.at<T>(3), call.at<float>(6),
                 Outputs<2>{{call.at<float>(4), call.at<float>(5)}});
}

}  // namespace

void layernorm_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void layernorm_input_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_input_gradient, s);
}
void layernorm_weight_gradient(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_weight_gradient, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_code.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rmsnorm/rmsnorm.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr unsigned kThreads = 256;

/// One block per row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    forward(const T* x, const float* w, T* y, float* r, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = blockIdx.x;
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) {
    const auto value = static_cast<float>(x[row * columns + i]);
    squares += value * value;
  }
  const float inverse = rms_inverse(block_sum(squares, scratch), static_cast<float>(columns));
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    y[row * columns + i] = T(static_cast<float>(x[row * columns + i]) * inverse * w[i]);
  if (threadIdx.x == 0) r[row] = inverse;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    input_gradient(const T* x, const float* w, const float* r, const T* dy, T* dx, int columns) {
  __shared__ float scratch[32];
  const std::int64_t row = blockIdx.x;
  float dot = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    dot +=
        static_cast<float>(dy[row * columns + i]) * w[i] * static_cast<float>(x[row * columns + i]);
  dot = block_sum(dot, scratch);
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads)
    dx[row * columns + i] = T(rmsnorm_dx(static_cast<float>(dy[row * columns + i]), w[i],
                                         static_cast<float>(x[row * columns + i]), r[row], dot,
                                         static_cast<float>(columns)));
}

/// Threads stand on columns, so that a warp reads a line; warps of a block share its rows.
constexpr unsigned kColumns = 32, kWarps = 8;
template <class T>
__global__ void __launch_bounds__(kColumns* kWarps)
    weight_gradient(const T* x, const float* r, const T* dy, float* dw, int rows, int columns) {
  __shared__ float sums[kWarps][kColumns + 1];
  const unsigned lane = threadIdx.x % kColumns, warp = threadIdx.x / kColumns;
  const int column = static_cast<int>(blockIdx.x * kColumns + lane);
  float sum = 0;
  if (column < columns) {
    for (int row = static_cast<int>(warp); row < rows; row += kWarps) {
      const std::int64_t i = std::int64_t{row} * columns + column;
      sum += static_cast<float>(dy[i]) * static_cast<float>(x[i]) * r[row];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= columns) return;
  for (unsigned k = 1; k < kWarps; ++k) sum += sums[k][lane];
  dw[column] = sum;
}

template <class T>
void launch_forward(const Call& call, Stream stream) {
  launch(forward<T>, static_cast<unsigned>(call["rows"]), kThreads, 0, stream, call.at<T>(0),
         call.at<float>(1), call.at<T>(2), call.at<float>(3), static_cast<int>(call["columns"]));
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  launch(input_gradient<T>, static_cast<unsigned>(call["rows"]), kThreads, 0, stream, call.at<T>(0),
         call.at<float>(1), call.at<float>(2), call.at<T>(3), call.at<T>(4),
         static_cast<int>(call["columns"]));
}
template <class T>
void launch_weight_gradient(const Call& call, Stream stream) {
  const auto blocks = static_cast<unsigned>((call["columns"] + kColumns - 1) / kColumns);
  launch(weight_gradient<T>, blocks, kColumns * kWarps, 0, stream, call.at<T>(0), call.at<float>(1),
         call.at<T>(2), call.at<float>(3), static_cast<int>(call["rows"]),
         static_cast<int>(call["columns"]));
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

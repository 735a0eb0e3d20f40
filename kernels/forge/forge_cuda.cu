// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/step_device.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/forge/forge.hpp"
#include "kernels/gemm/tensor_tile.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

using numeric::AdamW;

/// The epilogue: sums are gradients.
template <class T>
struct Apply {
  Step<AdamW, T> step;
  int columns;
  __device__ void operator()(std::int64_t, int row, int column, const float* sums) const {
    step.four(std::int64_t{row} * columns + column, columns - column, sums);
  }
};

template <class T>
__global__ void __launch_bounds__(kProductThreads, 2)
    forge(TileFactor<T, Inner::Rows> dy, TileFactor<T, Inner::Rows> x, Apply<T> apply) {
  multiply_tile(dy, x, 0, apply);
}

template <class T>
__global__ void __launch_bounds__(kProductThreads, 2)
    forge_tensor(TensorFactor<T> dy, TensorFactor<T> x, Apply<T> apply) {
  multiply_tensor_tile(dy, x, apply);
}

/// Tensor cores where the rows of 16-bit factors lie on 16 bytes, else CUDA cores.
template <class T>
void launch_forge(const Call& call, Stream stream) {
  const std::int64_t m = call["m"], n = call["n"], k = call["k"];
  const T *dy = call.at<T>(0), *x = call.at<T>(1);
  const bool aligned = rows_aligned<T>(dy, n, 0) && rows_aligned<T>(x, k, 0);
  const int depth = static_cast<int>(m), rows = static_cast<int>(n), columns = static_cast<int>(k);
  const Apply<T> apply{Step<AdamW, T>(call, kForgeTensors), columns};
  const dim3 grid = tile_grid(n, k, 1);
  if constexpr (sizeof(T) == 2) {
    if (aligned) {
      return launch(forge_tensor<T>, grid, kProductThreads, kTensorShared, stream,
                    TensorFactor<T>{dy, n, rows, depth}, TensorFactor<T>{x, k, columns, depth},
                    apply);
    }
  }
  launch(forge<T>, grid, kProductThreads, 0, stream,
         TileFactor<T, Inner::Rows>{dy, n, 0, rows, depth, aligned},
         TileFactor<T, Inner::Rows>{x, k, 0, columns, depth, aligned}, apply);
}

}  // namespace

void forge_step(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forge, s); }

}  // namespace paceline::kernels::PACELINE_TARGET

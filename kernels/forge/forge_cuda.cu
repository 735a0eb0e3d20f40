// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/step_device.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/forge/forge.hpp"
#include "kernels/gemm/tile.hpp"

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
void launch_forge(const Call& call, Stream stream) {
  const std::int64_t m = call["m"], n = call["n"], k = call["k"];
  const auto factor = [&](std::size_t tensor, std::int64_t rows) {
    const T* data = call.at<T>(tensor);
    return TileFactor<T, Inner::Rows>{
        data, rows, 0, static_cast<int>(rows), static_cast<int>(m), rows_aligned<T>(data, rows, 0)};
  };
  launch(forge<T>, tile_grid(n, k, 1), kProductThreads, 0, stream, factor(0, n), factor(1, k),
         Apply<T>{Step<AdamW, T>(call, kForgeTensors), static_cast<int>(k)});
}

}  // namespace

void forge_step(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forge, s); }

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "kernels/packs.hpp"

/// Device code: kernels that reduce each row. A short row belongs to a warp (blockDim.y of them in
/// a block), a longer one to a block; up to four packs of a thread stay in registers between the
/// passes over the row, so that rows of up to 4 * 512 packs are read from memory once.
namespace paceline::kernels::PACELINE_TARGET {

inline constexpr unsigned kRowThreads = 512;
inline constexpr int kRowHeld = 4;

/// Grid and block for rows of `packs` packs.
inline Tiles row_blocks(std::int64_t rows, std::int64_t packs) {
  if (packs <= 32 * kRowHeld) {
    const auto together = static_cast<unsigned>(std::min<std::int64_t>(rows, 8));
    return {dim3(static_cast<unsigned>((rows + together - 1) / together)), dim3(32, together)};
  }
  const auto enough = [&](int held) { return (packs + 32 * held - 1) / (32 * held) * 32; };
  const std::int64_t threads =
      enough(2) <= 256 ? enough(2) : std::clamp<std::int64_t>(enough(kRowHeld), 256, kRowThreads);
  return {dim3(static_cast<unsigned>(rows)), dim3(static_cast<unsigned>(threads))};
}

/// Of this thread; may be beyond the last, for whole warps.
__device__ inline std::int64_t row_of_thread() {
  return std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
}

/// Sum over the threads of a row. `scratch`: see block_sum.
__device__ inline float row_sum(float value, float* scratch) {
  return blockDim.x == 32 ? warp_sum(value) : block_sum(value, scratch);
}
__device__ inline float row_max(float value, float* scratch) {
  return blockDim.x == 32 ? warp_max(value) : block_max(value, scratch);
}

/// One row of `columns` elements of each input, read by its threads.
template <int W, int kInputs, class T>
class Row {
 public:
  /// `start`: index of the row's first element in each input.
  __device__ Row(const Inputs<T, kInputs>& in, std::int64_t start, int columns)
      : in_(moved(in, start)),
        packs_(columns / W),
        held_(in_, threadIdx.x, blockDim.x, columns / W) {}

  /// f(first column, Vector[kInputs]) for every pack of this thread.
  template <class F>
  __device__ void each(const F& f) const {
    held_.each(f);
    for (int i = static_cast<int>(threadIdx.x + kRowHeld * blockDim.x); i < packs_;
         i += static_cast<int>(blockDim.x)) {
      Vector<T, W> packs[kInputs];
      PACELINE_UNROLL
      for (int a = 0; a < kInputs; ++a) packs[a] = load<W>(in_.from[a] + i * W);
      f(std::int64_t{i} * W, packs);
    }
  }

 private:
  __device__ static Inputs<T, kInputs> moved(Inputs<T, kInputs> in, std::int64_t start) {
    PACELINE_UNROLL
    for (int a = 0; a < kInputs; ++a) in.from[a] += start;
    return in;
  }

  Inputs<T, kInputs> in_;
  int packs_;
  Held<W, kRowHeld, kInputs, T> held_;
};

}  // namespace paceline::kernels::PACELINE_TARGET

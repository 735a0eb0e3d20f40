// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the device kernels of attention share the work among blocks.
#include "kernels/attention/attention.hpp"
#include "kernels/device_code.hpp"

namespace paceline::kernels::PACELINE_TARGET {

__device__ inline int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x % 32); }
__device__ inline int warp_index() { return static_cast<int>(threadIdx.x / 32); }

/// PACELINE_UNROLL_BY: so many steps of a loop at a time. hide() keeps the compiler from computing
/// what follows from x ahead of time, in registers of its own.
#ifdef __CUDACC__
#define PACELINE_UNROLL_BY(steps) PACELINE_PRAGMA(unroll steps)
#define PACELINE_PRAGMA(words) _Pragma(#words)
__device__ inline void hide(int& x) { asm volatile("" : "+r"(x)); }
#else
#define PACELINE_UNROLL_BY(steps)
inline void hide(int&) {}
#endif

/// What the kernels of a pass are given.
template <class T>
struct ForwardArguments {
  const T *q, *k, *v;
  const std::int32_t* offsets;
  T* out;
  float* lse;
  Attention a;
  float scale_2;
};
template <class T>
ForwardArguments<T> forward_arguments(const Call& call) {
  const Attention a = attention_of(call.c);
  return {call.at<T>(kForwardQ),
          call.at<T>(kForwardK),
          call.at<T>(kForwardV),
          call.at<std::int32_t>(kForwardOffsets),
          call.at<T>(kForwardOut),
          call.at<float>(kForwardLse),
          a,
          score_scale_2(a.head_dim)};
}
template <class T>
struct BackwardArguments {
  const T *q, *k, *v;
  const std::int32_t* offsets;
  const T* out;
  const float* lse;
  const T* dout;
  T *dq, *dk, *dv;
  float* delta;
  Attention a;
  float scale, scale_2;
};
template <class T>
BackwardArguments<T> backward_arguments(const Call& call) {
  const Attention a = attention_of(call.c);
  return {call.at<T>(kQ),          call.at<T>(kK),
          call.at<T>(kV),          call.at<std::int32_t>(kOffsets),
          call.at<T>(kOut),        call.at<float>(kLse),
          call.at<T>(kDout),       call.at<T>(kDq),
          call.at<T>(kDk),         call.at<T>(kDv),
          call.at<float>(kDelta),  a,
          score_scale(a.head_dim), score_scale_2(a.head_dim)};
}

/// What a block works on: some rows (queries or keys) of one head of one sequence.
struct BlockPlace {
  int b, head, first, rows;
};
/// Blocks in turn: tiles of tile_rows of a head's `length` rows, heads, sequences. Backwards: the
/// last tile first, which in causal attention sees the most keys and should not start last.
__device__ inline BlockPlace place_of_block(int length, int tile_rows, int heads, bool backwards) {
  int block = static_cast<int>(blockIdx.x);
  hide(block);
  const int tiles = (length + tile_rows - 1) / tile_rows, tile = block % tiles;
  const int first = (backwards ? tiles - 1 - tile : tile) * tile_rows;
  return {block / tiles / heads, block / tiles % heads, first,
          length - first < tile_rows ? length - first : tile_rows};
}
/// Throws base::Error beyond the largest grid.
unsigned block_count(int length, int tile_rows, int heads, int batch);

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/device_code.hpp"

/// Reading and writing several elements at once, with a scalar way for ends and for rows that start
/// anywhere.
namespace paceline::kernels::PACELINE_TARGET {

/// N elements that are read or written as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

/// N consecutive elements from `from`, of which `valid` exist; 0 for the others.
template <int N, class T>
__device__ void read_floats(const T* from, int valid, bool aligned, float* to) {
  constexpr int kVector = N * sizeof(T) > 16 ? 16 / static_cast<int>(sizeof(T)) : N;
  if (aligned && valid >= N) {
    PACELINE_UNROLL
    for (int i = 0; i < N; i += kVector) {
      const auto vector = *reinterpret_cast<const Vector<T, kVector>*>(from + i);
      PACELINE_UNROLL
      for (int j = 0; j < kVector; ++j) to[i + j] = static_cast<float>(vector.at[j]);
    }
    return;
  }
  PACELINE_UNROLL
  for (int i = 0; i < N; ++i) to[i] = i < valid ? static_cast<float>(from[i]) : 0.0F;
}

/// The first `valid` of N values, rounded to T.
template <int N, class T>
__device__ void write_floats(const float* from, T* to, int valid, bool aligned) {
  static_assert(N * sizeof(T) <= 16);
  if (aligned && valid >= N) {
    Vector<T, N> vector;
    PACELINE_UNROLL
    for (int i = 0; i < N; ++i) vector.at[i] = T(from[i]);
    *reinterpret_cast<Vector<T, N>*>(to) = vector;
    return;
  }
  PACELINE_UNROLL
  for (int i = 0; i < N; ++i) {
    if (i < valid) to[i] = T(from[i]);
  }
}

/// Whether every row may be read as vectors of up to 16 bytes.
template <class T>
bool rows_aligned(const void* data, std::int64_t stride, std::int64_t step) {
  constexpr std::size_t kBytes = 8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16;
  constexpr auto kElements = static_cast<std::int64_t>(kBytes / sizeof(T));
  return reinterpret_cast<std::uintptr_t>(data) % kBytes == 0 && stride % kElements == 0 &&
         step % kElements == 0;
}

}  // namespace paceline::kernels::PACELINE_TARGET

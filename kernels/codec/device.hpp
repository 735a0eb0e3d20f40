// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/device_code.hpp"

/// What the codecs' device code shares.
namespace paceline::kernels::PACELINE_TARGET {

/// N elements that are loaded and stored together: at most 16 bytes, aligned to their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};
template <class T, int N>
__device__ const Pack<T, N>& pack_at(const T* data, std::int64_t i) {
  return *reinterpret_cast<const Pack<T, N>*>(data + i);
}
template <class T, int N>
__device__ Pack<T, N>& pack_at(T* data, std::int64_t i) {
  return *reinterpret_cast<Pack<T, N>*>(data + i);
}
/// Stores those of the N elements from `i` on that lie below `count`; i is a multiple of N.
template <class T, int N>
__device__ void store_up_to(T* data, std::int64_t i, const Pack<T, N>& values, std::int64_t count) {
  if (i + N <= count) {
    pack_at<T, N>(data, i) = values;
    return;
  }
  for (int k = 0; k < N && i + k < count; ++k) data[i + k] = values.at[k];
}
/// Zeros from `count` on.
template <class T, int N>
__device__ Pack<T, N> load_up_to(const T* data, std::int64_t i, std::int64_t count) {
  if (i + N <= count) return pack_at<T, N>(data, i);
  Pack<T, N> values{};
  for (int k = 0; k < N && i + k < count; ++k) values.at[k] = data[i + k];
  return values;
}

/// Enough blocks to fill a large device several times over; the others' work is looped over.
constexpr std::int64_t kMaxBlocks = 132 * 16;
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : (blocks < kMaxBlocks ? blocks : kMaxBlocks));
}

/// Largest value among groups of `lanes` neighbours of a warp (a power of two).
template <int lanes>
__device__ std::uint32_t group_max(std::uint32_t value) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffU, value, step);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace paceline::kernels::PACELINE_TARGET

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <type_traits>

#include "kernels/vectors.hpp"

/// Device code: several elements a load. A thread of a memory-bound kernel keeps a few 16-byte
/// loads under way at once, since a device needs (bandwidth x latency) bytes in flight to be busy.
namespace paceline::kernels::PACELINE_TARGET {

/// Elements of 16 bytes.
template <class T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

/// W elements at `from`: 16 bytes a load where they fill them (aligned so), else one by one.
/// load() is for what nobody writes and others read again; read_once() is the first to leave the
/// caches, as is what write_once() writes.
template <int W, class T>
__device__ Vector<T, W> load(const T* from) {
  Vector<T, W> result;
  if constexpr (sizeof(result) % 16 == 0) {
    uint4 raw[sizeof(result) / 16];
    PACELINE_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(result) / 16); ++i)
      raw[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    __builtin_memcpy(&result, raw, sizeof(result));
  } else {
    PACELINE_UNROLL
    for (int i = 0; i < W; ++i) result.at[i] = from[i];
  }
  return result;
}
template <int W, class T>
__device__ Vector<T, W> read_once(const T* from) {
  Vector<T, W> result;
  if constexpr (sizeof(result) % 16 == 0) {
    uint4 raw[sizeof(result) / 16];
    PACELINE_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(result) / 16); ++i)
      raw[i] = __ldcs(reinterpret_cast<const uint4*>(from) + i);
    __builtin_memcpy(&result, raw, sizeof(result));
  } else {
    PACELINE_UNROLL
    for (int i = 0; i < W; ++i) result.at[i] = from[i];
  }
  return result;
}
template <class T, int W>
__device__ void write_once(T* to, const Vector<T, W>& pack) {
  if constexpr (sizeof(pack) % 16 == 0) {
    uint4 raw[sizeof(pack) / 16];
    __builtin_memcpy(raw, &pack, sizeof(pack));
    PACELINE_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(pack) / 16); ++i)
      __stcs(reinterpret_cast<uint4*>(to) + i, raw[i]);
  } else {
    PACELINE_UNROLL
    for (int i = 0; i < W; ++i) to[i] = pack.at[i];
  }
}

/// The same pack, of which the compiler knows nothing: it is converted to floats again where it is
/// used again, instead of all the floats being kept in registers in between.
template <class T, int W>
__device__ Vector<T, W> afresh(Vector<T, W> pack) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(pack) == 16) {
    uint4 raw;
    __builtin_memcpy(&raw, &pack, sizeof(pack));
    asm volatile("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
    __builtin_memcpy(&pack, &raw, sizeof(pack));
  }
#endif
  return pack;
}

/// Arrays that are read side by side.
template <class T, int kInputs>
struct Inputs {
  const T* from[kInputs];
};

/// Packs `first`, first + step, ... (kHeld of them, those below `packs`) of each input, all loaded
/// before the first is used.
template <int W, int kHeld, int kInputs, class T>
class Held {
 public:
  __device__ Held(const Inputs<T, kInputs>& in, std::int64_t first, std::int64_t step,
                  std::int64_t packs)
      : first_(first), step_(step), packs_(packs) {
    PACELINE_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      const std::int64_t i = first + k * step;
      if (i >= packs) continue;
      PACELINE_UNROLL
      for (int a = 0; a < kInputs; ++a) held_[k][a] = read_once<W>(in.from[a] + i * W);
    }
  }
  /// f(index of the first element, Vector[kInputs])
  template <class F>
  __device__ void each(const F& f) const {
    PACELINE_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      const std::int64_t i = first_ + k * step_;
      if (i >= packs_) continue;
      Vector<T, W> packs[kInputs];
      PACELINE_UNROLL
      for (int a = 0; a < kInputs; ++a) packs[a] = afresh(held_[k][a]);
      f(i * W, packs);
    }
  }

 private:
  std::int64_t first_, step_, packs_;
  Vector<T, W> held_[kHeld][kInputs];
};

/// Whether packs of W elements lie on 16 bytes in all arrays, when rows have `columns`.
template <class T>
bool wide(const Call& call, std::int64_t columns) {
  bool result = columns % kWide<T> == 0;
  for (const Tensor& t : call.tensors)
    result = result && reinterpret_cast<std::uintptr_t>(t.data) % 16 == 0;
  return result;
}
/// Calls f with std::integral_constant<int, W>: 16 bytes' worth, or 1.
template <class T, class F>
void by_width(const Call& call, std::int64_t columns, const F& f) {
  if (wide<T>(call, columns)) {
    f(std::integral_constant<int, kWide<T>>{});
  } else {
    f(std::integral_constant<int, 1>{});
  }
}

inline constexpr unsigned kTileThreads = 256;
/// Grid (rows, tiles of a row) and block of a kernel in which each thread has `held` packs of a
/// row.
struct Tiles {
  dim3 grid, block;
};
inline Tiles tiles_of(std::int64_t rows, std::int64_t packs, int held) {
  const std::int64_t threads =
      std::min<std::int64_t>(kTileThreads, ((packs + held - 1) / held + 31) / 32 * 32);
  const std::int64_t tile = std::max<std::int64_t>(threads, 32) * held;
  return {dim3(static_cast<unsigned>(rows), static_cast<unsigned>((packs + tile - 1) / tile)),
          dim3(static_cast<unsigned>(tile / held))};
}
/// First pack of this thread in such a grid; the next ones are blockDim.x apart.
__device__ inline std::int64_t first_of_tile(int held) {
  return std::int64_t{blockIdx.y} * blockDim.x * held + threadIdx.x;
}

}  // namespace paceline::kernels::PACELINE_TARGET

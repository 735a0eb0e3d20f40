// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>

#include "kernels/stream.hpp"

/// CUDA's words for the processor: the threads of a block are fibers that run in turn until they
/// wait for each other. Blocks run one after another, so __shared__ variables are static ones.
/// Errors of synchronisation come out: threads that wait at different barriers or for threads that
/// never come, or a shuffle whose mask names a thread that has ended, stop the test with a message.
/// A missing barrier gives wrong results: the threads of about every second block run in descending
/// order, so that neither lower nor higher ones are always first.
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace paceline::kernels::simt {

struct Place {
  dim3 thread, block, block_size, grid_size;
  unsigned lane = 0;  ///< in its warp
};
const Place& place();  ///< of the running fiber

/// Waits until all threads of the block that have not ended are here, at the same place in the
/// source.
void wait_for_block(std::source_location here);
/// Waits until all threads of the warp in `mask` are here with the same mask.
void wait_for_warp(std::uint32_t mask);
/// 32 places of 8 bytes that the running thread's warp shares.
std::uint64_t* exchange();
void* shared_memory();
/// Prints what a kernel did wrong and aborts.
[[noreturn]] void fail(const char* what);

/// Runs body once for every thread of every block. Shared memory starts as 0xee bytes.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body);

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream,
            const Arguments&... arguments) {
  run_grid(grid, block, shared_bytes, [&] { kernel(static_cast<Parameters>(arguments)...); });
}

inline void copy_async(void* to, const void* from, std::size_t bytes, Stream) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// A load or store of a whole T, which a device wants aligned.
template <class T>
T read_aligned(const T* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(T) != 0) fail("a misaligned load");
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write_aligned(T* to, const T& value) {
  if (reinterpret_cast<std::uintptr_t>(to) % alignof(T) != 0) fail("a misaligned store");
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(shared_memory());
}

/// The value of lane from(lane) of the warp.
template <class T, class From>
T shuffle(std::uint32_t mask, T value, const From& from) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t* values = exchange();
  std::memcpy(&values[place().lane], &value, sizeof value);
  wait_for_warp(mask);
  T result = value;
  const unsigned source = from(place().lane);
  if (source < 32 && (mask >> source & 1U) != 0)
    std::memcpy(&result, &values[source], sizeof result);
  wait_for_warp(mask);
  return result;
}

}  // namespace paceline::kernels::simt

#define threadIdx (::paceline::kernels::simt::place().thread)
#define blockIdx (::paceline::kernels::simt::place().block)
#define blockDim (::paceline::kernels::simt::place().block_size)
#define gridDim (::paceline::kernels::simt::place().grid_size)

inline void __syncthreads(std::source_location here = std::source_location::current()) {
  paceline::kernels::simt::wait_for_block(here);
}
inline void __syncwarp(std::uint32_t mask = 0xffffffffU) {
  paceline::kernels::simt::wait_for_warp(mask);
}
template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source, int width = 32) {
  return paceline::kernels::simt::shuffle(mask, value, [&](unsigned lane) {
    const auto w = static_cast<unsigned>(width);
    return lane / w * w + static_cast<unsigned>(source) % w;
  });
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int lanes, int width = 32) {
  return paceline::kernels::simt::shuffle(mask, value, [&](unsigned lane) {
    const auto w = static_cast<unsigned>(width);
    const unsigned source = lane ^ static_cast<unsigned>(lanes);
    return source / w == lane / w ? source : lane;
  });
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned delta, int width = 32) {
  return paceline::kernels::simt::shuffle(mask, value, [&](unsigned lane) {
    return lane % static_cast<unsigned>(width) >= delta ? lane - delta : lane;
  });
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned delta, int width = 32) {
  return paceline::kernels::simt::shuffle(mask, value, [&](unsigned lane) {
    const auto w = static_cast<unsigned>(width);
    return lane % w + delta < w ? lane + delta : lane;
  });
}
std::uint32_t __ballot_sync(std::uint32_t mask, int predicate);
inline int __any_sync(std::uint32_t mask, int p) { return __ballot_sync(mask, p) != 0 ? 1 : 0; }
inline int __all_sync(std::uint32_t mask, int p) { return __ballot_sync(mask, p) == mask ? 1 : 0; }

template <class T>
T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  const T old = *at;
  *at = std::max(old, value);
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  const T old = *at;
  *at = std::min(old, value);
  return old;
}
template <class T>
T atomicOr(T* at, T value) {
  const T old = *at;
  *at = old | value;
  return old;
}
template <class T>
T atomicExch(T* at, T value) {
  const T old = *at;
  *at = value;
  return old;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
template <class T>
T __ldg(const T* from) {
  return paceline::kernels::simt::read_aligned(from);
}
template <class T>
T __ldcs(const T* from) {
  return paceline::kernels::simt::read_aligned(from);
}
template <class T>
void __stcs(T* to, const T& value) {
  paceline::kernels::simt::write_aligned(to, value);
}
inline void __threadfence() {}
inline int __popc(std::uint32_t x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<std::uint32_t>(x)); }
inline std::uint32_t __float_as_uint(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float __uint_as_float(std::uint32_t x) { return std::bit_cast<float>(x); }
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }

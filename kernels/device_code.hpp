// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What x_cuda.cu files include. nvcc compiles them for devices (namespace `cuda`), the host
/// compiler for the SIMT shim (namespace `simt`): the same source, so tests without a GPU run the
/// same lines.
///   namespace paceline::kernels::PACELINE_TARGET { __global__ void k(...) {...} }
///   launch(k, grid, block, shared_bytes, stream, arguments...);
#ifdef __CUDACC__
#include <cuda_runtime.h>

#include "kernels/cuda/check.hpp"
#define PACELINE_TARGET cuda
#define PACELINE_UNROLL _Pragma("unroll")
#else
#include "kernels/simt/simt.hpp"
#define PACELINE_TARGET simt
#define PACELINE_UNROLL
#endif
#include "kernels/operation.hpp"

namespace paceline::kernels::PACELINE_TARGET {

#ifdef __CUDACC__
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Stream stream, const Arguments&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;  // nothing to do is no error
  if (shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)));
  kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream.handle)>>>(
      static_cast<Parameters>(arguments)...);
  check(cudaGetLastError());
}

/// Enqueues a copy; device and page-locked host memory in either place.
inline void copy_async(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                        static_cast<cudaStream_t>(stream.handle)));
}

/// The block's dynamic shared memory.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ float4 paceline_dynamic_shared[];
  return reinterpret_cast<T*>(paceline_dynamic_shared);
}
#endif

/// Sum over the 32 threads of a warp, in all of them.
template <class T>
__device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffU, value, step);
  return value;
}
template <class T>
__device__ T warp_max(T value) {
  for (int step = 16; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xffffffffU, value, step);
    value = other > value ? other : value;
  }
  return value;
}

/// Over all threads of a one-dimensional block of whole warps, in all of them. `scratch`: 32
/// elements of shared memory, free for other uses after the next __syncthreads.
template <class T>
__device__ T block_sum(T value, T* scratch) {
  value = warp_sum(value);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : T(0));
}
template <class T>
__device__ T block_max(T value, T* scratch) {
  value = warp_max(value);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return warp_max(lane < warps ? scratch[lane] : scratch[0]);
}

}  // namespace paceline::kernels::PACELINE_TARGET

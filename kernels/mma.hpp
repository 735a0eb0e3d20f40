// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tensor cores and asynchronous copies, one small function per instruction, as sm_80 and later
/// have them (PTX ISA: mma.m16n8k16, ldmatrix, cp.async). nvcc compiles the instructions; for the
/// SIMT shim kernels/simt/mma.hpp has the same functions in plain C++, so that a kernel's index
/// arithmetic is tested without a GPU.
///
/// Fragments of a warp, with g = lane / 4 and t = lane % 4; "lo, hi" are the halves of a register:
///   A 16x16: a[0] = (g, 2t..2t+1), a[1] = (g+8, 2t..), a[2] = (g, 2t+8..), a[3] = (g+8, 2t+8..)
///   B 16x8:  b0 = (2t..2t+1, g), b1 = (2t+8..2t+9, g)
///   D 16x8:  d[0], d[1] = (g, 2t), (g, 2t+1); d[2], d[3] = (g+8, 2t), (g+8, 2t+1)
#include <cstdint>

#include "base/numeric/float_formats.hpp"
#include "kernels/device_code.hpp"

#ifdef __CUDACC__
#define PACELINE_UNROLL _Pragma("unroll")

namespace paceline::kernels::cuda {

/// Where generic addresses of shared memory are for ldmatrix and cp.async.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// d += A * B, products of bf16 or fp16 summed in fp32, by all 32 lanes.
template <class T>
__device__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                             std::uint32_t b1);
template <>
__device__ inline void mma_m16n8k16<numeric::bf16>(float (&d)[4], const std::uint32_t (&a)[4],
                                                   std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void mma_m16n8k16<numeric::fp16>(float (&d)[4], const std::uint32_t (&a)[4],
                                                   std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8x8 matrices of 16-bit elements; lane i gives the address (16-byte aligned) of row i % 8 of
/// matrix i / 8. r[m] of a lane: elements (g, 2t) and (g, 2t + 1) of matrix m.
__device__ inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The same of the transposed matrices: r[m] has elements (2t, g) and (2t + 1, g).
__device__ inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// Starts copying Bytes (4, 8 or 16, both sides aligned to them) to shared memory; zeros instead
/// where `valid` is false, and then `from` is not read.
template <int Bytes>
__device__ inline void cp_async(void* to, const void* from, bool valid) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  const int size = valid ? Bytes : 0;
  if constexpr (Bytes == 16) {  // past the first-level cache, which only this size can
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(size)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "n"(Bytes), "r"(size)
                 : "memory");
  }
}
/// Ends a group of this thread's copies.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last `Pending` groups of this thread are under way. Other threads see
/// what has arrived after the next __syncthreads.
template <int Pending>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Two values rounded to T (bf16 or fp16), lo in the lower half.
template <class T>
__device__ std::uint32_t pack(float lo, float hi);
template <>
__device__ inline std::uint32_t pack<numeric::bf16>(float lo, float hi) {
  std::uint32_t result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(hi), "f"(lo));
  return result;
}
template <>
__device__ inline std::uint32_t pack<numeric::fp16>(float lo, float hi) {
  std::uint32_t result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(hi), "f"(lo));
  return result;
}

}  // namespace paceline::kernels::cuda
#else
#define PACELINE_UNROLL
#include "kernels/simt/mma.hpp"
#endif

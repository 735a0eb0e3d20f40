// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// Products of matrices: what gemm, batched-gemm, grouped-gemm, muon and forge are made of.
namespace paceline::kernels {

/// A factor as it is stored, row by row: op(factor) is the stored matrix, or its transpose.
struct Factor {
  const void* data = nullptr;
  DType type = DType::F32;
  std::int64_t stride = 0;  ///< elements from one stored row to the next
  std::int64_t step = 0;    ///< elements from one product of the batch to the next
  bool transposed = false;
};

/// result = alpha * op(a) op(b) + beta * addend for each product of a batch: op(a) is m x k, op(b)
/// k x n, result and addend m x n with the same stride and step. Sums are kept in fp32. All extents
/// may be 0: without k, result = beta * addend.
/// Types: both factors fp32, bf16 or fp16, and a result of that type or fp32, in the three forms
/// that layers need (op(a) op(b), op(a) op(b)^T and op(a)^T op(b)); or a of either fp8 type and b
/// in E4M3, both stored with k innermost (the only form that Hopper's fp8 units know), and a result
/// in bf16 or fp32.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Factor a, b;
  void* result = nullptr;
  DType result_type = DType::F32;
  std::int64_t stride = 0, step = 0;
  const void* addend = nullptr;  ///< null where beta is 0; may be the result itself
  float alpha = 1, beta = 0;
  const float* a_scale =
      nullptr;  ///< one number in the backend's memory that multiplies a, or null
  const float* b_scale = nullptr;
  bool tf32 = false;  ///< CUDA may round fp32 factors to TF32
};

/// How a product runs: a backend's function.
using Multiply = void (*)(const Product&, Stream);

/// One thread; Eigen inside, with AVX2 and FMA where the processor has them.
void multiply_cpu(const Product& product);

namespace cuda {
/// cuBLASLt, or multiply_plain where it has no algorithm (fp8 whose rows are not whole 16 bytes).
/// Throws base::MissingError without the library.
void multiply(const Product& product, Stream stream);
void multiply_plain(const Product& product, Stream stream);
/// Throws as multiply would, without a device.
void require_cublaslt();
/// Copies to the host what the stream's earlier work left; waits for it.
void read_back(void* to, const void* from, std::size_t bytes, Stream stream);
}  // namespace cuda
namespace simt {
/// The kernel on CUDA cores, in the shim.
void multiply(const Product& product, Stream stream);
void multiply_plain(const Product& product, Stream stream);
void read_back(void* to, const void* from, std::size_t bytes, Stream stream);
}  // namespace simt

}  // namespace paceline::kernels

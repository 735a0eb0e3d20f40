// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace paceline::kernels {

/// c = alpha * op(a) op(b) + beta * c in fp32, row-major, strides in elements between stored rows;
/// with beta 0, c is written whatever it holds.
struct FloatProduct {
  std::int64_t m, n, k;
  const float *a, *b;
  float* c;
  std::int64_t a_stride, b_stride, c_stride;
  bool a_transposed, b_transposed;
  float alpha, beta;
};

/// The same source for any x86-64 processor and for AVX2 with FMA.
void eigen_product_generic(const FloatProduct& product);
void eigen_product_avx2(const FloatProduct& product);
/// Whether this processor runs eigen_product_avx2.
bool has_avx2();

}  // namespace paceline::kernels

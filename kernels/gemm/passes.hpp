// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/gemm/product.hpp"

/// The three products of a linear layer, shared by gemm, batched-gemm and grouped-gemm:
///   forward          y[m,n]   = x[m,k] w[n,k]^T
///   input-gradient   dx[m,k]  = dy[m,n] w[n,k]
///   weight-gradient  dw[n,k] += dy[m,n]^T x[m,k]     (fp32, accumulated)
/// Cases of type fp8-e4m3 hold activations and weights in E4M3 and gradients in E5M2, with one
/// scale per tensor, and give y and dx in bf16. Their factors are stored with the summed extent
/// innermost, as fp8 units want them: w as [k,n] for dx, dy as [n,m] and x as [k,m] for dw.
/// An extent tf32=1 lets CUDA round fp32 factors to TF32.
namespace paceline::kernels {

enum class LinearPass { Forward, InputGradient, WeightGradient };

/// A pass as a product: extents of one product of `batch`, and how the factors are stored.
struct LinearForm {
  std::int64_t m, n, k, batch;
  bool a_transposed, b_transposed, accumulates;
};
LinearForm linear_form(const Case& c, LinearPass pass);

/// Types that cases may have: fp32, bf16, fp16, fp8-e4m3.
const std::vector<DType>& linear_types();
DType factor_type(const Case& c, LinearPass pass, int factor);
DType result_type(const Case& c, LinearPass pass);

/// Tensors 0 and 1 are the factors (x w, dy w, dy x), 2 the result, 3 and 4 the factors' scales in
/// fp8 cases.
std::vector<TensorSpec> linear_tensors(const Case& c, LinearPass pass);
Work linear_work(const Case& c, LinearPass pass);
/// From the formulas above, in double; `values` as the tensors, of a case without groups.
void linear_reference(const Case& c, LinearPass pass, Values& values);
/// The product that a call asks for; the scales are tensors `scales` and the next one.
Product linear_product(const Call& call, LinearPass pass, std::size_t scales = 3);

/// Relative to the root mean square of the result: fp32 sums; fp8 units keep fewer bits of a sum
/// than fp32 does (DeepSeek-V3 technical report, arXiv:2412.19437, section 3.3.2).
double linear_tolerance(DType type);

/// One row of the table: Operation of `kernel` for a pass.
template <LinearPass P>
Operation linear_operation(const char* kernel, const char* pass, const char* summary,
                           std::vector<Shape> (*test_shapes)(),
                           std::vector<Shape> (*bench_shapes)()) {
  Operation o{kernel,
              pass,
              summary,
              linear_types(),
              [](const Case& c) { return linear_tensors(c, P); },
              [](const Case& c) { return linear_work(c, P); },
              test_shapes,
              bench_shapes,
              [](const Case& c, Values& v) { linear_reference(c, P, v); },
              [](const Call& c) { multiply_cpu(linear_product(c, P)); }};
  o.simt = [](const Call& c, Stream s) { simt::multiply(linear_product(c, P), s); };
#ifdef PACELINE_HAVE_CUDA
  o.cuda = [](const Call& c, Stream s) { cuda::multiply(linear_product(c, P), s); };
#endif
  return o;
}

}  // namespace paceline::kernels

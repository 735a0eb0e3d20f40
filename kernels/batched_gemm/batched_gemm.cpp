// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/passes.hpp"

namespace paceline::kernels {
namespace {

std::vector<Shape> test_shapes() {
  return {{{"batch", 1}, {"m", 1}, {"n", 7}, {"k", 3}},
          {{"batch", 3}, {"m", 9}, {"n", 16}, {"k", 5}},
          {{"batch", 2}, {"m", 40}, {"n", 24}, {"k", 33}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"batch", 16}, {"m", 256}, {"n", 256}, {"k", 64}},
          {{"batch", 32}, {"m", 512}, {"n", 512}, {"k", 128}},
          {{"batch", 64}, {"m", 2048}, {"n", 2048}, {"k", 128}}};
}

}  // namespace

std::vector<Operation> batched_gemm_operations() {
  return {linear_operation<LinearPass::Forward>("batched-gemm", "forward", "y = x w^T of each",
                                                test_shapes, bench_shapes),
          linear_operation<LinearPass::InputGradient>(
              "batched-gemm", "input-gradient", "dx = dy w of each", test_shapes, bench_shapes),
          linear_operation<LinearPass::WeightGradient>("batched-gemm", "weight-gradient",
                                                       "dw += dy^T x of each, in fp32", test_shapes,
                                                       bench_shapes)};
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/passes.hpp"

namespace paceline::kernels {
namespace {

std::vector<Shape> test_shapes() {
  return {{{"m", 1}, {"n", 1}, {"k", 1}},
          {{"m", 5}, {"n", 33}, {"k", 17}},
          {{"m", 131}, {"n", 1}, {"k", 40}},
          {{"m", 136}, {"n", 48}, {"k", 32}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"m", 256}, {"n", 256}, {"k", 256}},    {{"m", 512}, {"n", 512}, {"k", 512}},
          {{"m", 1024}, {"n", 1024}, {"k", 1024}}, {{"m", 2048}, {"n", 2048}, {"k", 2048}},
          {{"m", 4096}, {"n", 4096}, {"k", 4096}}, {{"m", 8192}, {"n", 8192}, {"k", 8192}},
          {{"m", 16}, {"n", 4096}, {"k", 4096}},   {{"m", 512}, {"n", 4096}, {"k", 1024}},
          {{"m", 128}, {"n", 1024}, {"k", 512}},   {{"m", 1024}, {"n", 512}, {"k", 128}},
          {{"m", 256}, {"n", 128}, {"k", 2048}},   {{"m", 2048}, {"n", 256}, {"k", 1024}},
          {{"m", 384}, {"n", 768}, {"k", 768}},    {{"m", 64}, {"n", 512}, {"k", 512}},
          {{"m", 4096}, {"n", 14336}, {"k", 4096}}};
}

}  // namespace

std::vector<Operation> gemm_operations() {
  return {linear_operation<LinearPass::Forward>("gemm", "forward", "y = x w^T", test_shapes,
                                                bench_shapes),
          linear_operation<LinearPass::InputGradient>("gemm", "input-gradient", "dx = dy w",
                                                      test_shapes, bench_shapes),
          linear_operation<LinearPass::WeightGradient>(
              "gemm", "weight-gradient", "dw += dy^T x, in fp32", test_shapes, bench_shapes)};
}

}  // namespace paceline::kernels

// SPDX-License-Identifier: Apache-2.0
#include "kernels/forge/forge.hpp"

#include <algorithm>

#include "kernels/dispatch.hpp"
#include "kernels/gemm/passes.hpp"

namespace paceline::kernels {
namespace {

using numeric::AdamW;

std::vector<TensorSpec> tensors(const Case& c) {
  const std::int64_t m = c.shape["m"], n = c.shape["n"], k = c.shape["k"];
  std::vector<TensorSpec> result = {{"dy", Use::In, c.type, m * n}, {"x", Use::In, c.type, m * k}};
  add_step_tensors<AdamW>(c, n * k, kAdamWStates, result);
  return result;
}

Work work(const Case& c) {
  const auto m = static_cast<double>(c.shape["m"]), n = static_cast<double>(c.shape["n"]),
             k = static_cast<double>(c.shape["k"]);
  return {2 * m * n * k + kAdamWFlops * n * k,
          m * (n + k) * static_cast<double>(bytes_of(c.type)) + n * k * step_bytes<AdamW>(c)};
}

void reference(const Case& c, Values& v) {
  Values product = {v[0], v[1], std::vector<double>(v[kForgeTensors.weight()].size())};
  linear_reference(c, LinearPass::WeightGradient, product);
  adamw_reference(product[2], v, kForgeTensors);
}

/// Weights of a tile: its gradient stays in the second level of cache.
constexpr std::int64_t kRows = 256, kColumns = 512;

template <class T>
void cpu(const Call& call) {
  const std::int64_t n = call["n"], k = call["k"];
  const auto rule = settings_at<AdamW>(call.at<float>(kForgeTensors.settings()));
  const StepPointers<AdamW, T> step(call, kForgeTensors);
  static thread_local std::vector<float> gradient(static_cast<std::size_t>(kRows * kColumns));
  for (std::int64_t i = 0; i < n; i += kRows) {
    for (std::int64_t j = 0; j < k; j += kColumns) {
      Product p;
      p.m = std::min(kRows, n - i);
      p.n = p.stride = std::min(kColumns, k - j);
      p.k = call["m"];
      p.a = {call.at<T>(0) + i, call.c.type, n, 0, true};
      p.b = {call.at<T>(1) + j, call.c.type, k};
      p.result = gradient.data();
      multiply_cpu(p);
      for (std::int64_t row = 0; row < p.m; ++row)
        step_range(rule, gradient.data() + row * p.n, step, (i + row) * k + j, p.n);
    }
  }
}

std::vector<Shape> test_shapes() {
  return {{{"m", 1}, {"n", 1}, {"k", 1}},
          {{"m", 9}, {"n", 7}, {"k", 34}},
          {{"m", 33}, {"n", 132}, {"k", 40}},
          {{"m", 70}, {"n", 136}, {"k", 200}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"m", 512}, {"n", 1024}, {"k", 1024}},
          {{"m", 512}, {"n", 4096}, {"k", 4096}},
          {{"m", 512}, {"n", 14336}, {"k", 4096}}};
}

}  // namespace

std::vector<Operation> forge_operations() {
  return {{"forge",
           "step",
           "AdamW in the epilogue of the weight gradient's product",
           {DType::F32, DType::Bf16, DType::F16},
           tensors,
           work,
           test_shapes,
           bench_shapes,
           reference,
           [](const Call& call) { PACELINE_BY_TYPE(call, cpu); },
           PACELINE_ON_DEVICE(forge_step)}};
}

}  // namespace paceline::kernels

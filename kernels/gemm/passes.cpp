// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/passes.hpp"

namespace paceline::kernels {
namespace {

bool is_fp8(const Case& c) { return c.type == DType::E4m3; }
std::int64_t batch_of(const Case& c) { return c.shape.has("batch") ? c.shape["batch"] : 1; }
double count(std::int64_t n) { return static_cast<double>(n); }

constexpr const char* kNames[3][3] = {{"x", "w", "y"}, {"dy", "w", "dx"}, {"dy", "x", "dw"}};

}  // namespace

const std::vector<DType>& linear_types() {
  static const std::vector<DType> types = {DType::F32, DType::Bf16, DType::F16, DType::E4m3};
  return types;
}

LinearForm linear_form(const Case& c, LinearPass pass) {
  const std::int64_t m = c.shape["m"], n = c.shape["n"], k = c.shape["k"], batch = batch_of(c);
  const bool fp8 = is_fp8(c);
  if (pass == LinearPass::Forward) return {m, n, k, batch, false, true, false};
  if (pass == LinearPass::InputGradient) return {m, k, n, batch, false, fp8, false};
  return {n, k, m, batch, !fp8, fp8, true};
}

DType factor_type(const Case& c, LinearPass pass, int factor) {
  const bool gradient = pass != LinearPass::Forward && factor == 0;
  return is_fp8(c) && gradient ? DType::E5m2 : c.type;
}
DType result_type(const Case& c, LinearPass pass) {
  if (pass == LinearPass::WeightGradient) return DType::F32;
  return is_fp8(c) ? DType::Bf16 : c.type;
}

double linear_tolerance(DType type) { return type == DType::E4m3 ? 2e-3 : 1e-5; }

std::vector<TensorSpec> linear_tensors(const Case& c, LinearPass pass) {
  const LinearForm f = linear_form(c, pass);
  const auto& names = kNames[static_cast<std::size_t>(pass)];
  std::vector<TensorSpec> result = {
      {names[0], Use::In, factor_type(c, pass, 0), f.batch * f.m * f.k},
      {names[1], Use::In, factor_type(c, pass, 1), f.batch * f.n * f.k},
      {names[2], f.accumulates ? Use::InOut : Use::Out, result_type(c, pass), f.batch * f.m * f.n,
       Fill::Normal, 1, linear_tolerance(c.type)}};
  if (!is_fp8(c)) return result;
  result.push_back({"a_scale", Use::In, DType::F32, 1, Fill::Uniform, 2});
  result.push_back({"b_scale", Use::In, DType::F32, 1, Fill::Uniform, 2});
  return result;
}

Work linear_work(const Case& c, LinearPass pass) {
  const LinearForm f = linear_form(c, pass);
  const auto bytes = [](DType type) { return static_cast<double>(bytes_of(type)); };
  const double m = count(f.m), n = count(f.n), k = count(f.k);
  return {2 * m * n * k * count(f.batch),
          count(f.batch) *
              (m * k * bytes(factor_type(c, pass, 0)) + n * k * bytes(factor_type(c, pass, 1)) +
               m * n * bytes(result_type(c, pass)) * (f.accumulates ? 2 : 1))};
}

void linear_reference(const Case& c, LinearPass pass, Values& v) {
  const auto m = static_cast<std::size_t>(c.shape["m"]), n = static_cast<std::size_t>(c.shape["n"]),
             k = static_cast<std::size_t>(c.shape["k"]);
  const bool fp8 = is_fp8(c);
  const double scale = fp8 ? v[3][0] * v[4][0] : 1;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch_of(c)); ++b) {
    const double* first = v[0].data() + b * (pass == LinearPass::Forward ? m * k : m * n);
    const double* second = v[1].data() + b * (pass == LinearPass::WeightGradient ? m * k : n * k);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t l = 0; l < k; ++l) {
          if (pass == LinearPass::Forward)
            v[2][(b * m + i) * n + j] += scale * first[i * k + l] * second[j * k + l];
          if (pass == LinearPass::InputGradient)
            v[2][(b * m + i) * k + l] +=
                scale * first[i * n + j] * second[fp8 ? l * n + j : j * k + l];
          if (pass == LinearPass::WeightGradient)
            v[2][(b * n + j) * k + l] +=
                scale * first[fp8 ? j * m + i : i * n + j] * second[fp8 ? l * m + i : i * k + l];
        }
      }
    }
  }
}

Product linear_product(const Call& call, LinearPass pass, std::size_t scales) {
  const LinearForm f = linear_form(call.c, pass);
  Product p;
  p.m = f.m;
  p.n = f.n;
  p.k = f.k;
  p.batch = f.batch;
  p.a = {call.at<void>(0), factor_type(call.c, pass, 0), f.a_transposed ? f.m : f.k, f.m * f.k,
         f.a_transposed};
  p.b = {call.at<void>(1), factor_type(call.c, pass, 1), f.b_transposed ? f.k : f.n, f.n * f.k,
         f.b_transposed};
  p.result = call.at<void>(2);
  p.result_type = result_type(call.c, pass);
  p.stride = f.n;
  p.step = f.m * f.n;
  if (f.accumulates) {
    p.addend = p.result;
    p.beta = 1;
  }
  if (is_fp8(call.c)) {
    p.a_scale = call.at<float>(scales);
    p.b_scale = call.at<float>(scales + 1);
  }
  p.tf32 = call.c.shape.has("tf32") && call["tf32"] != 0;
  return p;
}

}  // namespace paceline::kernels

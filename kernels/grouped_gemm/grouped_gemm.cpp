// SPDX-License-Identifier: Apache-2.0
// Products of `groups` linear layers (experts), each with its own rows of x: rows offsets[g] up to
// offsets[g + 1] of m belong to group g. One product after another on every backend; a group's
// extents must be known to enqueue it, so on CUDA the offsets are read back first, which waits for
// the stream. Inputs made up for a case have groups of equal size, or of random ones with an extent
// skewed=1.
#include "base/error.hpp"
#include "kernels/gemm/passes.hpp"

namespace paceline::kernels {
namespace {

constexpr std::size_t kOffsets = 3, kScales = 4;
using ReadBack = void (*)(void*, const void*, std::size_t, Stream);

std::int64_t weights(const Case& c) { return c.shape["n"] * c.shape["k"]; }

std::vector<TensorSpec> tensors(const Case& c, LinearPass pass) {
  const bool skewed = c.shape.has("skewed") && c.shape["skewed"] != 0;
  std::vector<TensorSpec> result = linear_tensors(c, pass);
  result[pass == LinearPass::WeightGradient ? 2 : 1].count = c.shape["groups"] * weights(c);
  result.insert(result.begin() + kOffsets,
                {"offsets", Use::In, DType::I32, c.shape["groups"] + 1,
                 skewed ? Fill::Cuts : Fill::Steps, static_cast<double>(c.shape["m"])});
  return result;
}

Work work(const Case& c, LinearPass pass) {
  Work result = linear_work(c, pass);
  const double bytes = pass == LinearPass::WeightGradient
                           ? 2 * 4
                           : static_cast<double>(bytes_of(factor_type(c, pass, 1)));
  result.bytes +=
      static_cast<double>(c.shape["groups"] - 1) * static_cast<double>(weights(c)) * bytes;
  return result;
}

void reference(const Case& c, LinearPass pass, Values& v) {
  const auto m = static_cast<std::size_t>(c.shape["m"]), n = static_cast<std::size_t>(c.shape["n"]),
             k = static_cast<std::size_t>(c.shape["k"]);
  const bool fp8 = c.type == DType::E4m3;
  const double scale = fp8 ? v[kScales][0] * v[kScales + 1][0] : 1;
  std::size_t g = 0;
  for (std::size_t i = 0; i < m; ++i) {
    while (static_cast<double>(i) >= v[kOffsets][g + 1]) ++g;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) {
        const std::size_t in_w = (g * n + j) * k + l;
        if (pass == LinearPass::Forward) v[2][i * n + j] += scale * v[0][i * k + l] * v[1][in_w];
        if (pass == LinearPass::InputGradient)
          v[2][i * k + l] += scale * v[0][i * n + j] * v[1][fp8 ? (g * k + l) * n + j : in_w];
        if (pass == LinearPass::WeightGradient)
          v[2][in_w] +=
              scale * v[0][fp8 ? j * m + i : i * n + j] * v[1][fp8 ? l * m + i : i * k + l];
      }
    }
  }
}

const void* shifted(const void* data, DType type, std::int64_t elements) {
  return static_cast<const unsigned char*>(data) +
         elements * static_cast<std::int64_t>(bytes_of(type));
}

/// The product of group g: rows first up to last of all m, which `p` covers.
Product group_product(Product p, LinearPass pass, std::int64_t g, std::int64_t first,
                      std::int64_t last) {
  const std::int64_t group = g * (pass == LinearPass::WeightGradient ? p.m : p.k) * p.n;
  std::int64_t in_b = group, in_result = first * p.stride;
  const bool across = pass == LinearPass::WeightGradient && !p.a.transposed;
  p.a.data = shifted(p.a.data, p.a.type, first * (across ? 1 : p.a.stride));
  if (pass == LinearPass::WeightGradient) {
    in_b = first * (p.b.transposed ? 1 : p.b.stride);
    in_result = group;
    p.k = last - first;
  } else {
    p.m = last - first;
  }
  p.b.data = shifted(p.b.data, p.b.type, in_b);
  p.result = const_cast<void*>(shifted(p.result, p.result_type, in_result));
  if (p.addend != nullptr) p.addend = p.result;
  return p;
}

void run(const Call& call, LinearPass pass, Stream stream, Multiply multiply, ReadBack read_back) {
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(call["groups"]) + 1);
  read_back(offsets.data(), call.at<void>(kOffsets), offsets.size() * sizeof(std::int32_t), stream);
  const Product all = linear_product(call, pass, kScales);
  for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
    const std::int64_t first = offsets[g], last = offsets[g + 1];
    PACELINE_CHECK(0 <= first && first <= last && last <= call["m"]);
    if (first < last)
      multiply(group_product(all, pass, static_cast<std::int64_t>(g), first, last), stream);
  }
}

std::vector<Shape> test_shapes() {
  return {{{"groups", 1}, {"m", 3}, {"n", 5}, {"k", 7}},
          {{"groups", 4}, {"m", 37}, {"n", 16}, {"k", 9}, {"skewed", 1}},
          {{"groups", 5}, {"m", 2}, {"n", 3}, {"k", 20}, {"skewed", 1}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"groups", 4}, {"m", 512}, {"n", 512}, {"k", 256}},
          {{"groups", 8}, {"m", 4096}, {"n", 2048}, {"k", 1024}},
          {{"groups", 32}, {"m", 16384}, {"n", 4096}, {"k", 2048}}};
}

template <LinearPass P>
Operation operation(const char* pass, const char* summary) {
  Operation o{"grouped-gemm",
              pass,
              summary,
              linear_types(),
              [](const Case& c) { return tensors(c, P); },
              [](const Case& c) { return work(c, P); },
              test_shapes,
              bench_shapes,
              [](const Case& c, Values& v) { reference(c, P, v); },
              [](const Call& c) {
                run(
                    c, P, {}, [](const Product& p, Stream) { multiply_cpu(p); }, simt::read_back);
              }};
  o.simt = [](const Call& c, Stream s) { run(c, P, s, simt::multiply, simt::read_back); };
#ifdef PACELINE_HAVE_CUDA
  o.cuda = [](const Call& c, Stream s) { run(c, P, s, cuda::multiply, cuda::read_back); };
#endif
  return o;
}

}  // namespace

std::vector<Operation> grouped_gemm_operations() {
  return {operation<LinearPass::Forward>("forward", "y = x w^T, w by group of rows"),
          operation<LinearPass::InputGradient>("input-gradient", "dx = dy w, w by group of rows"),
          operation<LinearPass::WeightGradient>("weight-gradient",
                                                "dw += dy^T x of each group, in fp32")};
}

}  // namespace paceline::kernels

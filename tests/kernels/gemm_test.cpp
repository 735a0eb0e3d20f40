// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "kernels/gemm/column_major.hpp"
#include "kernels/gemm/eigen_product.hpp"
#include "kernels/gemm/passes.hpp"
#include "tests/kernels/by_hand.hpp"

using namespace paceline;
using namespace paceline::kernels;

namespace {

/// Whole numbers from -4 to 4: their sums are exact in fp32.
template <class T>
std::vector<T> whole_numbers(std::int64_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& value : result) value = T(static_cast<float>(rng.below(9)) - 4);
  return result;
}

/// Element (i, j) of op(stored matrix).
template <class T>
float at(const std::vector<T>& stored, std::int64_t stride, bool transposed, std::int64_t i,
         std::int64_t j) {
  return static_cast<float>(
      stored[static_cast<std::size_t>(transposed ? j * stride + i : i * stride + j)]);
}

void check_float_product(void (*multiply)(const FloatProduct&), FloatProduct p, bool poisoned) {
  const std::int64_t a_rows = p.a_transposed ? p.k : p.m, b_rows = p.b_transposed ? p.n : p.k;
  p.a_stride = (p.a_transposed ? p.m : p.k) + 3;
  p.b_stride = (p.b_transposed ? p.k : p.n) + 1;
  p.c_stride = p.n + 2;
  const auto a = whole_numbers<float>(a_rows * p.a_stride, 1),
             b = whole_numbers<float>(b_rows * p.b_stride, 2);
  auto c = whole_numbers<float>(p.m * p.c_stride, 3);
  if (poisoned) c.assign(c.size(), std::numeric_limits<float>::quiet_NaN());
  const auto before = c;
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  multiply(p);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.c_stride; ++j) {
      const float old = at(before, p.c_stride, false, i, j), got = at(c, p.c_stride, false, i, j);
      if (j >= p.n) {
        CHECK((got == old || poisoned));  // padding
        continue;
      }
      float sum = p.beta == 0 ? 0 : p.beta * old;
      for (std::int64_t l = 0; l < p.k; ++l)
        sum += p.alpha * at(a, p.a_stride, p.a_transposed, i, l) *
               at(b, p.b_stride, p.b_transposed, l, j);
      REQUIRE(got == sum);
    }
  }
}

/// a times b through multiply, all packed; the result is fp32.
template <class T>
struct WholeProduct {
  std::vector<T> a, b;
  std::vector<float> result;
  Product p;
  WholeProduct(DType type, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
               bool b_transposed)
      : a(whole_numbers<T>(m * k, 4)),
        b(whole_numbers<T>(n * k, 5)),
        result(static_cast<std::size_t>(m * n), 7) {
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = {a.data(), type, a_transposed ? m : k, 0, a_transposed};
    p.b = {b.data(), type, b_transposed ? k : n, 0, b_transposed};
    p.result = result.data();
    p.stride = n;
  }
  float wanted(std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t l = 0; l < p.k; ++l)
      sum += at(a, p.a.stride, p.a.transposed, i, l) * at(b, p.b.stride, p.b.transposed, l, j);
    return sum;
  }
  bool right() const {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        if (result[static_cast<std::size_t>(i * p.n + j)] != wanted(i, j)) return false;
      }
    }
    return true;
  }
};

}  // namespace

TEST_CASE("both processor variants multiply whole numbers exactly in every orientation",
          "[kernels]") {
  const bool avx2 = GENERATE(false, true);
  if (avx2 && !has_avx2()) return;
  const bool a_transposed = GENERATE(false, true), b_transposed = GENERATE(false, true);
  for (const std::int64_t m : {1, 7, 40}) {
    for (const std::int64_t n : {1, 9, 33}) {
      for (const float beta : {0.0F, 1.0F, -2.0F}) {
        FloatProduct p{};
        p.m = m;
        p.n = n;
        p.k = m == 7 ? 1 : 50;
        p.a_transposed = a_transposed;
        p.b_transposed = b_transposed;
        p.alpha = n == 9 ? 2 : 1;
        p.beta = beta;
        INFO("m=" << m << " n=" << n << " k=" << p.k << " beta=" << beta);
        check_float_product(avx2 ? eigen_product_avx2 : eigen_product_generic, p, beta == 0);
      }
    }
  }
}

TEST_CASE("products of more than one block of narrow types are exact too", "[kernels]") {
  WholeProduct<numeric::bf16> wide(DType::Bf16, 3, 1030, 520, false, true);
  multiply_cpu(wide.p);
  CHECK(wide.right());
  WholeProduct<numeric::fp16> tall(DType::F16, 1025, 2, 513, true, false);
  multiply_cpu(tall.p);
  CHECK(tall.right());
}

TEST_CASE("tiles on CUDA cores are exact off every alignment", "[kernels]") {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      if (a_transposed && b_transposed) continue;
      WholeProduct<float> odd(DType::F32, 131, 135, 37, a_transposed, b_transposed);
      simt::multiply_plain(odd.p, {});
      CHECK(odd.right());
      WholeProduct<numeric::fp16> even(DType::F16, 136, 8, 48, a_transposed, b_transposed);
      simt::multiply_plain(even.p, {});
      CHECK(even.right());
    }
  }
}

TEST_CASE("the addend may lie elsewhere, and k may be 0", "[kernels]") {
  for (const std::int64_t k : {0, 5}) {
    for (const Multiply multiply :
         {Multiply([](const Product&p, Stream) { multiply_cpu(p); }), Multiply(simt::multiply)}) {
      WholeProduct<float> w(DType::F32, 6, 10, k, false, true);
      const auto addend = whole_numbers<float>(60, 9);
      w.p.addend = addend.data();
      w.p.alpha = -3;
      w.p.beta = 2;
      multiply(w.p, {});
      for (std::int64_t i = 0; i < 60; ++i) {
        const auto place = static_cast<std::size_t>(i);
        REQUIRE(w.result[place] == -3 * w.wanted(i / 10, i % 10) + 2 * addend[place]);
      }
    }
  }
}

TEST_CASE("a row-major product read by columns is BLAS's", "[kernels]") {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      WholeProduct<float> w(DType::F32, 4, 3, 5, a_transposed, b_transposed);
      const ColumnMajorProduct c = column_major(w.p);
      const auto element = [](const ColumnMajorMatrix& m, bool transposed, std::int64_t row,
                              std::int64_t column) {
        if (transposed) std::swap(row, column);
        REQUIRE(row < m.rows);
        REQUIRE(column < m.columns);
        REQUIRE(m.stride >= m.rows);
        return static_cast<const float*>(m.data)[row + column * m.stride];
      };
      for (std::int64_t i = 0; i < c.m; ++i) {
        for (std::int64_t j = 0; j < c.n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < c.k; ++l)
            sum += element(c.first, c.first_transposed, i, l) *
                   element(c.second, c.second_transposed, l, j);
          REQUIRE(i < c.result.rows);
          REQUIRE(j < c.result.columns);
          w.result[static_cast<std::size_t>(i + j * c.result.stride)] = sum;
        }
      }
      CHECK(w.right());
    }
  }
}

TEST_CASE("fp8 factors always have the summed extent innermost, as fp8 units want them",
          "[kernels]") {
  const Case c{DType::E4m3, {{"m", 16}, {"n", 32}, {"k", 48}}};
  for (const LinearPass pass :
       {LinearPass::Forward, LinearPass::InputGradient, LinearPass::WeightGradient}) {
    const LinearForm f = linear_form(c, pass);
    CHECK(!f.a_transposed);
    CHECK(f.b_transposed);
  }
  CHECK(factor_type(c, LinearPass::WeightGradient, 0) == DType::E5m2);
  CHECK(factor_type(c, LinearPass::WeightGradient, 1) == DType::E4m3);
}

TEST_CASE("groups are products of their own, and an empty one is left alone", "[kernels]") {
  const Case c{DType::F32, {{"groups", 3}, {"m", 5}, {"n", 2}, {"k", 2}}};
  const std::vector<double> dy = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<double> x = {1, 0, 0, 1, 1, 1, 2, 0, 0, 2};
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Values v = run_by_hand(operation_named("grouped-gemm", "weight-gradient"), c, *backend,
                                 {dy, x, {100}, {0, 2, 2, 5}});
    // rows 0 and 1; none; rows 2 to 4
    CHECK(v[2] == std::vector<double>{101, 103, 102, 104, 100, 100, 100, 100, 119, 123, 122, 126});
  }
}

#ifdef PACELINE_HAVE_CUDA
TEST_CASE("cuBLASLt is loaded with all its functions, or missed in one line", "[kernels]") {
  try {
    cuda::require_cublaslt();
  } catch (const base::MissingError& error) {
    const std::string message = error.what();
    CHECK_THAT(message, Catch::Contains("libcublasLt.so") && Catch::Contains("is not found"));
    CHECK(message.find('\n') == std::string::npos);
  }
}
#endif

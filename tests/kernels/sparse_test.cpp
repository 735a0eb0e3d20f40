// SPDX-License-Identifier: Apache-2.0
// Top-k, thresholds, bitvectors and coordinates: what is kept is kept exactly, whatever the data.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/numeric/sparse_codes.hpp"
#include "kernels/codec/compact.hpp"
#include "tests/kernels/codecs.hpp"

namespace paceline::kernels::sparse_codes_test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Case top_k(std::size_t count, std::int64_t kept, DType type = DType::F32) {
  return {type, {{"count", static_cast<std::int64_t>(count)}, {"kept", kept}}};
}
Case sparse(std::size_t count, std::int64_t nonzeros, DType type = DType::F32) {
  return {type, {{"count", static_cast<std::int64_t>(count)}, {"nonzeros", nonzeros}}};
}

/// Indices by a full sort: larger magnitudes first, NaN before all, ties by index.
std::vector<double> sorted_choice(const std::vector<double>& a, std::size_t kept) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::isnan(a[i]) ? 2 * kInfinity : std::abs(a[i]);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
    if (std::isnan(a[i]) != std::isnan(a[k])) return std::isnan(a[i]);
    return rank(i) > rank(k);
  });
  order.resize(kept);
  std::sort(order.begin(), order.end());
  return {order.begin(), order.end()};
}

std::vector<double> decoded(std::size_t count, const std::vector<double>& indices,
                            const std::vector<double>& values, DType type) {
  const auto places = static_cast<std::int64_t>(values.size());
  return run_codec("pack-coo", "decode", sparse(count, places, type), {indices, values})[2];
}

double float_sum(double a, double b) {
  return static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
}

}  // namespace

TEST_CASE("top-k takes exactly k, ties in order of index", "[kernels]") {
  std::vector<std::vector<double>> arrays = {std::vector<double>(300, 1.0),
                                             std::vector<double>(300, 0.0),
                                             normal_floats(300, 3),
                                             {3, -3, 3, 1, -1, 1, 0, -0.0, 2, -2}};
  arrays.push_back(normal_floats(9000, 4));  // many ties over three tiles
  for (double& value : arrays.back()) value = std::round(2 * value) / 2;
  arrays.push_back({kInfinity, 1, -kInfinity, 1e38, -1e38, 1e-45, -1e-40, 0});
  arrays.emplace_back();  // keys that differ in the last digit only
  for (int i = 0; i < 700; ++i) arrays.back().push_back(1 + std::ldexp((i * 37) % 700, -23));
  for (const auto& a : arrays) {
    for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, a.size() / 3, a.size()}) {
      for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
        if (a.size() > 1000 && kept != a.size() / 3) continue;
        INFO(a.size() << " elements, " << kept << " kept, on " << backend->name);
        const std::vector<double> zeros(a.size(), 0.0);
        const Values result =
            run_codec("select-top-k", "encode", top_k(a.size(), static_cast<std::int64_t>(kept)),
                      {a, zeros}, *backend);
        CHECK(result[2] == sorted_choice(a, kept));
      }
    }
  }
}

TEST_CASE("NaN is sent before all else", "[kernels]") {
  const std::vector<double> a = {1, 5, std::nan(""), 7, std::nan(""), 3}, zeros(6, 0.0);
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Values result = run_codec("select-top-k", "encode", top_k(6, 3), {a, zeros}, *backend);
    CHECK(result[2] == std::vector<double>{2, 3, 4});
  }
}

TEST_CASE("what is sent and what is kept are the gradient and the old residual exactly",
          "[kernels]") {
  const DType type = GENERATE(DType::F32, DType::Bf16, DType::F16);
  const std::size_t count = 5000;
  // Gradient and residual of different sizes, so that bf16 and fp16 values round.
  std::vector<double> gradient = normal_floats(count, 5), residual = normal_floats(count, 6, 1e-3);
  for (std::size_t i = 0; i < count; i += 3) std::swap(gradient[i], residual[i]);
  std::vector<unsigned char> bytes(8);
  for (double& value : gradient) {
    set_element(bytes.data(), type, 0, value);
    value = element(bytes.data(), type, 0);
  }
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Values top = run_codec("select-top-k", "encode", top_k(count, 500, type),
                                 {gradient, residual}, *backend);
    const std::vector<double> sent = decoded(count, top[2], top[3], type);
    for (std::size_t i = 0; i < count; ++i)
      REQUIRE(sent[i] + top[1][i] == float_sum(gradient[i], residual[i]));
    const Case c{type, {{"count", static_cast<std::int64_t>(count)}, {"capacity", 800}}};
    const Values some =
        run_codec("select-threshold", "encode", c, {gradient, residual, {0.9}}, *backend);
    REQUIRE(some[5][0] > 800);  // not all of them fit: the rest must stay
    const std::vector<double> sent_too = decoded(count, some[3], some[4], type);
    for (std::size_t i = 0; i < count; ++i)
      REQUIRE(sent_too[i] + some[1][i] == float_sum(gradient[i], residual[i]));
  }
}

TEST_CASE("fp16 and bf16 values beyond their largest do not go to infinity", "[kernels]") {
  const std::vector<double> large = {1e5, -3.4e38};
  const Values half = run_codec("select-top-k", "encode", top_k(2, 2, DType::F16), {{1, 1}, large});
  CHECK(half[3] == std::vector<double>{65504, -65504});
  const Values brain =
      run_codec("select-top-k", "encode", top_k(2, 2, DType::Bf16), {{1, 1}, large});
  CHECK(std::isfinite(brain[3][1]));
  CHECK(std::isfinite(brain[1][1]));
}

TEST_CASE("a larger k never leaves a larger residual", "[kernels]") {
  const std::vector<double> gradient = normal_floats(3000, 8), residual = normal_floats(3000, 9);
  double last = kInfinity;
  for (const std::int64_t kept : {0, 1, 10, 100, 1000, 2999, 3000}) {
    const Values result =
        run_codec("select-top-k", "encode", top_k(3000, kept), {gradient, residual});
    double squares = 0;
    for (const double r : result[1]) squares += r * r;
    CHECK(squares < last);
    last = squares;
  }
  CHECK(last == 0);
}

TEST_CASE("every element is sent at last, as residuals grow", "[kernels]") {
  std::vector<double> residual(64, 0.0), gradient = normal_floats(64, 10);
  std::vector<int> sent(64);
  for (double& g : gradient) g = g < 0 ? g - 0.1 : g + 0.1;
  for (int step = 0; step < 400; ++step) {
    const Values result = run_codec("select-top-k", "encode", top_k(64, 4), {gradient, residual});
    residual = result[1];
    for (const double i : result[2]) ++sent[static_cast<std::size_t>(i)];
  }
  CHECK(std::none_of(sent.begin(), sent.end(), [](int times) { return times == 0; }));
}

TEST_CASE("sparse arrays come back exactly, as bitvector and as coordinates", "[kernels]") {
  const DType type = GENERATE(DType::F32, DType::Bf16, DType::F16);
  base::Rng rng(11);
  for (const std::int64_t count : {1, 8, 4096, 9005}) {
    for (const std::int64_t nonzeros : {std::int64_t{0}, (count + 99) / 100, count}) {
      const Case c = sparse(static_cast<std::size_t>(count), nonzeros, type);
      const std::vector<double> x =
          random_values(operation_named("pack-coo", "encode").tensors(c)[0], rng);
      const Values bits = run_codec("pack-bitvector", "encode", c, {x});
      CHECK(bits[4][0] == static_cast<double>(nonzeros));
      const std::vector<double> back =
          run_codec("pack-bitvector", "decode", c, {bits[1], bits[2], bits[3]})[3];
      CHECK(back == bits[0]);  // x, rounded to the type
      const Values pairs = run_codec("pack-coo", "encode", c, {x});
      CHECK(run_codec("pack-coo", "decode", c, {pairs[1], pairs[2]})[2] == bits[0]);
    }
  }
}

TEST_CASE("nonzeros for which there is no place are counted and left out", "[kernels]") {
  const std::vector<double> x = {1, 0, 2, -0.0, 3, std::nan("")};
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Values bits = run_codec("pack-bitvector", "encode", sparse(6, 2), {x}, *backend);
    CHECK(bits[1] == std::vector<double>{0b110101});
    CHECK(bits[2] == std::vector<double>{0});
    CHECK(bits[3] == std::vector<double>{1, 2});
    CHECK(bits[4] == std::vector<double>{4});
    const Values pairs = run_codec("pack-coo", "encode", sparse(6, 2), {x}, *backend);
    CHECK(pairs[1] == std::vector<double>{0, 2});
    CHECK(pairs[3] == std::vector<double>{4});
    // Neither bits nor indices lead outside.
    const Values lies =
        run_codec("pack-bitvector", "decode", sparse(6, 2), {{255}, {4e9}, {1, 2}}, *backend);
    CHECK(lies[3] == std::vector<double>(6, 0.0));
    const Values far = run_codec("pack-coo", "decode", sparse(6, 2), {{6, 4e9}, {1, 2}}, *backend);
    CHECK(far[2] == std::vector<double>(6, 0.0));
  }
}

TEST_CASE("sparse formats have exactly the bytes that are said", "[kernels]") {
  for (const std::int64_t count : {1, 9, 4096, 10000}) {
    for (const DType type : {DType::F32, DType::F16}) {
      const Case c = sparse(static_cast<std::size_t>(count), 1, type);
      const auto size = static_cast<std::int64_t>(bytes_of(type));
      CHECK(output_bytes(operation_named("pack-bitvector", "encode"), c,
                         {"bits", "prefixes", "values"}) ==
            numeric::bitvector_bytes(count, 1, size));
      CHECK(output_bytes(operation_named("pack-coo", "encode"), c, {"indices", "values"}) ==
            numeric::coordinate_bytes(1, size));
    }
  }
  CHECK(numeric::bitvector_bytes(8192, 100, 4) == 400 + 1024 + 8);
  CHECK(numeric::coordinate_bytes(100, 4) == 800);
  CHECK(output_bytes(operation_named("select-top-k", "encode"), top_k(1000, 10),
                     {"indices", "values"}) == numeric::coordinate_bytes(10, 4));
}

namespace {

using simt::Counts;

/// One warp that asks for the counts before tile 100.
void look_back(Counts* states, std::uint32_t* ticket, Counts* result) {
  const simt::Scan scan{states, ticket};
  const simt::Counts before = simt::counts_before(scan, 100, simt::counts_of(7, 9));
  if (threadIdx.x == 5) *result = before;
}

}  // namespace

TEST_CASE("a tile looks back over all that have counted only themselves", "[kernels]") {
  for (const int known : {99, 98, 70, 68, 67, 36, 35, 1, 0}) {
    std::vector<Counts> states(101, 0);
    Counts wanted = 0, result = 0;
    for (unsigned i = 0; i < 100; ++i) {
      wanted += simt::counts_of(i, 3 * i);
      const bool all = static_cast<int>(i) <= known;
      states[i] = all ? wanted | simt::kAll : simt::counts_of(i, 3 * i) | simt::kOwn;
    }
    std::uint32_t ticket = 0;
    simt::launch(look_back, 1, 32, 0, Stream{}, states.data(), &ticket, &result);
    CHECK(simt::first_of(result) == 4950);
    CHECK(simt::second_of(result) == 3 * 4950);
    CHECK(states[100] == ((wanted + simt::counts_of(7, 9)) | simt::kAll));
  }
}

}  // namespace paceline::kernels::sparse_codes_test

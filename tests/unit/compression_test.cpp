// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"
#include "models/compression/parts.hpp"
#include "models/cost/kernel_curve.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed = 7) {
  base::Rng rng(seed);
  std::vector<float> x(count);
  for (float& v : x) v = static_cast<float>(base::standard_normal(rng));
  return x;
}

double norm(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

double relative_error(std::span<const float> decoded, std::span<const float> exact) {
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double d = static_cast<double>(decoded[i]) - exact[i];
    sum += d * d;
  }
  return std::sqrt(sum) / norm(exact);
}

std::vector<float> through(const Codec& codec, const CodecSettings& s, std::vector<float> x,
                           std::size_t rows, CodecState& state) {
  codec.round_trip(s, {x, rows, x.size() / rows}, state);
  return x;
}
std::vector<float> through(std::string_view name, const CodecSettings& s,
                           const std::vector<float>& x, std::size_t rows) {
  CodecState state;
  return through(codec_named(name, ""), s, x, rows, state);
}

double wire(std::string_view name, const CodecSettings& s, const CodecTensor& t) {
  return codec_named(name, "").encoded(s, t).wire_bytes;
}

}  // namespace

TEST_CASE("bytes on the wire are those of the formats") {
  const CodecTensor t{1024, 4096, 1, 2};
  const double n = 1024.0 * 4096;
  CodecSettings s;
  CHECK(wire("bf16", s, t) == 2 * n);
  CHECK(wire("fp8-e4m3", s, t) == n + 4);
  s.block = 128;
  CHECK(wire("fp8-e5m2", s, t) == n + 4 * n / 128);
  CHECK(wire("int8", s, t) == n + 4 * n / 128);
  CHECK(wire("nvfp4", s, t) == n / 2 + n / 16 + 4);
  CHECK(wire("sign", s, t) == n / 8 + 4);
  CHECK(wire("ternary", s, t) == n / 4 + 4);
  s.keep = 0.01;
  const double kept = std::round(0.01 * n);
  CHECK(wire("top-k", s, t) == 6 * kept);
  CHECK(wire("random-k", s, t) == 2 * kept);
  CHECK(wire("scape", s, t) == 2 * kept);
  CHECK(wire("threshold", s, t) == 6 * kept);
  s.keep = 0.1;  // a bit per element is shorter than four bytes per kept one
  CHECK(wire("threshold", s, t) == 2 * std::round(0.1 * n) + n / 8 + 4 * n / 4096);
  CHECK(wire("power-sgd", s, t) == 2 * (1024 + 4096) * 32.0);
  CHECK(wire("gift", s, t) == n + 4 * n / 128);
  CHECK(wire("subspace", s, t) == 1024 * 32 * 2.0);
  CHECK(wire("mapl", s, t) == 1024 * (32 * 2 + 4.0));
  s.codebook = 256;  // a byte for each of 16 pairs, twice
  s.split = 16;
  s.levels = 2;
  CHECK(wire("mapl", s, t) == 1024 * (32 + 4.0));
  CHECK(wire("mos", s, t) == 1024 * 32 * 2.0 + 64);
  s.density = 0.01;
  CHECK(wire("bitvector", s, t) == 2 * kept + n / 8 + 4 * n / 4096);
  CHECK(wire("coo", s, t) == 6 * kept);
  s.block = 0;
  s.keep = 32.0 / 4096;  // 32 of a square of 64 x 64: 12 bits say where
  CHECK(wire("dct-top-k", s, t) == n / 4096 * 32 * (2 + 1.5));
}

TEST_CASE("sending more costs more bytes and loses less") {
  const std::vector<float> x = normal_numbers(64 * 96);
  const CodecTensor t{64, 96, 1, 4};
  for (const char* name : {"top-k", "random-k", "dct-top-k", "threshold"}) {
    CAPTURE(name);
    double bytes = 0, error = 2;
    for (const double keep : {0.01, 0.1, 0.5, 1.0}) {
      CodecSettings s;
      s.keep = keep;
      s.values = Precision::Fp32;
      CHECK(wire(name, s, t) > bytes);
      bytes = wire(name, s, t);
      const double now = relative_error(through(name, s, x, 64), x);
      CHECK(now < error);
      error = now;
    }
    CHECK(error < 1e-4);  // everything is sent, or all that a sample knows of
  }
  for (const char* name : {"power-sgd", "subspace", "mapl", "mos"}) {
    CAPTURE(name);
    double error = 2;
    for (const std::int64_t rank : {4, 16, 64}) {
      CodecSettings s;
      s.rank = rank;
      s.values = Precision::Fp32;
      const double now = relative_error(through(name, s, x, 64), x);
      CHECK(now < error);
      error = now;
    }
  }
}

TEST_CASE("no codec makes anything of nothing, and none more than it was given") {
  const std::vector<float> x = normal_numbers(32 * 48), zero(32 * 48, 0.0F);
  for (const Codec& codec : codecs()) {
    CAPTURE(codec.name);
    CodecSettings s;
    s.keep = 0.2;
    s.rank = 8;
    CodecState a, b;
    for (const float v : through(codec, s, zero, 32, a)) REQUIRE(v == 0);
    const auto decoded = through(codec, s, x, 32, b);
    for (const float v : decoded) REQUIRE(std::isfinite(v));
    CHECK(relative_error(decoded, x) < 1 + 1e-6);
    // The same bytes whatever the numbers are, and twice as many for two of the same matrix.
    const double one = codec.encoded(s, {64, 64, 1, 4}).wire_bytes;
    CHECK(codec.encoded(s, {64, 64, 2, 4}).wire_bytes == Approx(2 * one).epsilon(0.01));
  }
}

TEST_CASE("what is exact comes back as it was") {
  const std::vector<float> x = normal_numbers(32 * 48);
  CodecSettings s;
  s.keep = 1;
  s.rank = 48;
  s.values = Precision::Fp32;
  for (const char* name : {"top-k", "random-k", "scape", "bitvector", "coo"})
    CHECK(through(name, s, x, 32) == x);
  for (const char* name : {"subspace", "mos", "mapl", "power-sgd", "dct-top-k"})
    CHECK(relative_error(through(name, s, x, 48), x) < 1e-5);
  const std::vector<float> whole{1, -2, 0, 127};  // multiples of the scale
  CHECK(through("int8", s, whole, 1) == whole);
  CHECK(through("bf16", s, whole, 1) == whole);
}

TEST_CASE("words of a codebook lose less the more there are, and again what is left") {
  const std::vector<float> x = normal_numbers(256 * 16);
  CodecSettings s;
  s.rank = 16;
  s.split = 8;
  double before = 1;
  for (const auto& [words, levels] : {std::pair{4, 1}, {32, 1}, {32, 2}}) {
    s.codebook = words;
    s.levels = levels;
    const double error = relative_error(through("mapl", s, x, 256), x);
    CHECK(error < before);
    before = error;
  }
  CHECK(before < 0.2);
}

TEST_CASE("one well-scaled FP8 round trip loses 2.64 % of the norm in E4M3 and 5.26 % in E5M2") {
  const std::vector<float> x = normal_numbers(1 << 17);
  CHECK(relative_error(through("fp8-e4m3", {}, x, 1), x) == Approx(2.64e-2).epsilon(0.01));
  CHECK(relative_error(through("fp8-e5m2", {}, x, 1), x) == Approx(5.26e-2).epsilon(0.01));
}

TEST_CASE("what error feedback holds back is sent later, to the last bit of the sum") {
  const std::vector<float> x = normal_numbers(24 * 40);
  for (const char* name : {"top-k", "random-k", "threshold", "scape", "power-sgd", "dct-top-k"}) {
    CAPTURE(name);
    CodecSettings s;
    s.keep = 0.1;
    s.rank = 2;
    const Codec& codec = codec_named(name, "");
    CodecState state;
    std::vector<double> sent(x.size(), 0);
    constexpr int kSteps = 6;
    for (int step = 0; step < kSteps; ++step) {
      const auto decoded = through(codec, s, x, 24, state);
      for (std::size_t i = 0; i < x.size(); ++i) sent[i] += decoded[i];
    }
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(sent[i] + state.residual[i] - kSteps * x[i]));
    CHECK(worst < 1e-4);
  }
}

TEST_CASE("whitening divides the loss of FP8 by the root of columns over effective rank") {
  // G = D A with the covariance A of the inputs in no way along the axes, as gradients of a linear
  // layer are: (W - W*) E[x x^T].
  constexpr std::size_t kRows = 64, kColumns = 96;
  const std::vector<float> axes = codec_parts::random_basis(kColumns, kColumns, 5);
  const std::vector<float> d = normal_numbers(kRows * kColumns, 3);
  for (const double exponent : {0.5, 0.75}) {
    std::vector<float> scaled = axes;
    double trace = 0, squares = 0;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const double a = std::pow(static_cast<double>(j + 1), -exponent);
      trace += a;
      squares += a * a;
      for (std::size_t i = 0; i < kColumns; ++i) scaled[i * kColumns + j] *= static_cast<float>(a);
    }
    CodecState state;
    state.input_covariance = codec_parts::multiply(
        scaled, codec_parts::transposed(axes, kColumns, kColumns), kColumns, kColumns, kColumns);
    const auto g = codec_parts::multiply(d, state.input_covariance, kRows, kColumns, kColumns);
    CodecSettings s;
    s.rank = kColumns;
    const double plain = relative_error(through("fp8-e4m3", s, g, kRows), g);
    const double whitened = relative_error(through(codec_named("gift", ""), s, g, kRows, state), g);
    const double law = std::sqrt(kColumns * squares / (trace * trace));
    CAPTURE(exponent, plain, whitened);
    CHECK(plain / whitened == Approx(law).epsilon(0.05));
  }
}

TEST_CASE("projections keep what lies in their space") {
  std::vector<float> x = normal_numbers(40 * 6);
  CodecSettings s;
  s.rank = 6;
  s.values = Precision::Fp32;
  CodecState state;
  const Codec& subspace = codec_named("subspace", "");
  const auto once = through(subspace, s, normal_numbers(50 * 30), 50, state);
  const auto twice = through(subspace, s, once, 50, state);
  CHECK(relative_error(twice, once) < 1e-5);
  // A matrix of rank 6 is the product PowerSGD finds, once its basis has turned.
  const std::vector<float> right = normal_numbers(6 * 30, 9);
  std::vector<float> product(40 * 30, 0.0F);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t k = 0; k < 6; ++k)
      for (std::size_t j = 0; j < 30; ++j) product[i * 30 + j] += x[i * 6 + k] * right[k * 30 + j];
  CHECK(relative_error(through("power-sgd", s, product, 40), product) < 1e-4);
}

TEST_CASE("codecs run kernels that exist, and finite ones") {
  for (const Codec& codec : codecs()) {
    CAPTURE(codec.name);
    CodecSettings s;
    const Encoded e = codec.encoded(s, {512, 1024, 3, 4});
    CHECK(e.wire_bytes > 0);
    CHECK(e.wire_bytes <= 4 * 512 * 1024 * 3.0);
    for (const auto* kernels : {&e.encode, &e.decode, &e.aside}) {
      for (const CodecKernel& kernel : *kernels) {
        CHECK_NOTHROW(kernel_kind(kernel.kernel));
        CHECK((kernel.bytes > 0 || kernel.m * kernel.n * kernel.k > 0));
      }
    }
  }
  CHECK_THROWS_WITH(codec_named("fp8-e3m4", "a.yaml:3:5"), Catch::Contains("fp8-e4m3"));
}

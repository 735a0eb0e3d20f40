// SPDX-License-Identifier: Apache-2.0
// Signs and ternary values as bits: counting by planes, ties, bytes on the wire.
#include "base/numeric/votes.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernels/codecs.hpp"

namespace paceline::kernels::votes_test {

namespace {

Case count_of(std::int64_t count, std::int64_t workers = 1, DType type = DType::F32) {
  return {type, {{"count", count}, {"workers", workers}}};
}

}  // namespace

TEST_CASE("planes count like a loop does", "[kernels]") {
  base::Rng rng(3);
  numeric::VoteCounts<8> counts;
  int wanted[32] = {};
  for (int vote = 0; vote < 255; ++vote) {
    const auto word = static_cast<std::uint32_t>(rng.next()) | (vote % 3 == 0 ? 1U : 0U);
    numeric::add_votes(counts, word);
    for (int i = 0; i < 32; ++i) wanted[i] += static_cast<int>(word >> i & 1U);
    for (int i = 0; i < 32; ++i) {
      int got = 0;
      for (int p = 0; p < 8; ++p) got |= static_cast<int>(counts.planes[p] >> i & 1U) << p;
      REQUIRE(got == wanted[i]);
    }
    for (const std::uint32_t half : {0U, 1U, 63U, 127U, 200U}) {
      const std::uint32_t more = numeric::more_votes(counts, numeric::equal_votes<8>(half));
      for (int i = 0; i < 32; ++i)
        REQUIRE((more >> i & 1U) == (wanted[i] > static_cast<int>(half) ? 1U : 0U));
    }
  }
}

TEST_CASE("a majority of signs is a majority, a tie is positive", "[kernels]") {
  const std::int64_t workers = GENERATE(1, 2, 3, 4, 8, 9, 15, 16, 31, 255, 256);
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    // Bit i of the word is set by min(i, workers) workers, so every count up to 31 occurs.
    std::vector<double> votes;
    for (std::int64_t w = 0; w < workers; ++w) {
      std::uint32_t word = 0;
      for (int i = 0; i < 32; ++i) word |= (w < i ? 1U : 0U) << i;
      votes.push_back(word);
    }
    const Values result =
        run_codec("pack-sign", "vote", {DType::U32, {{"count", 32}, {"workers", workers}}}, {votes},
                  *backend);
    std::uint32_t wanted = 0;
    for (int i = 0; i < 32; ++i)
      wanted |= (2 * std::min<std::int64_t>(i, workers) > workers ? 1U : 0U) << i;
    CHECK(result[1][0] == wanted);
  }
}

TEST_CASE("ternary votes: zeros abstain, a tie is zero", "[kernels]") {
  // Words are plus, minus per worker; bits are read from the right.
  const std::vector<double> votes = {0b0001111, 0b1000000,   // + + + + 0 0 -
                                     0b0000011, 0b0011100,   // + + - - - 0 0
                                     0b0000001, 0b1100110};  // + - - 0 0 - -
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Values result = run_codec(
        "pack-ternary", "vote", {DType::U32, {{"count", 7}, {"workers", 3}}}, {votes}, *backend);
    // +3, +1, -1, 0, -1, -1, -2
    CHECK(result[1] == std::vector<double>{0b0000011, 0b1110100});
  }
}

TEST_CASE("signs come back with their scale, and halve the error at the best one", "[kernels]") {
  const std::vector<double> x = normal_floats(4096, 9);
  const Values coded = run_codec("pack-sign", "encode", count_of(4096), {x});
  double mean = 0;
  for (const double value : x) mean += std::abs(value) / 4096;
  const Values back = run_codec("pack-sign", "decode", count_of(4096), {coded[1], {mean}});
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::signbit(back[2][i]) == std::signbit(x[i]));
    squares += x[i] * x[i];
  }
  // |x - s sign(x)|^2 = |x|^2 - n s^2 at s = mean |x|: Karimireddy et al., Error feedback fixes
  // SignSGD, arXiv:1901.09847, lemma 8. For normal numbers 1 - 2/pi.
  const double error = relative_error(x, back[2]);
  CHECK(error * error == Approx(1 - 4096 * mean * mean / squares).epsilon(1e-4));
  CHECK(error * error == Approx(1 - 2 / 3.14159265).epsilon(0.05));

  const double threshold = 0.612;  // the best for normal numbers with one scale for what is beyond
  const Values three = run_codec("pack-ternary", "encode", count_of(4096), {x, {threshold}});
  double sum = 0, beyond = 0;
  for (const double value : x) {
    sum += std::abs(value) > threshold ? std::abs(value) : 0;
    beyond += std::abs(value) > threshold ? 1 : 0;
  }
  const Values ternary =
      run_codec("pack-ternary", "decode", count_of(4096), {three[2], {sum / beyond}});
  CHECK(relative_error(x, ternary[2]) < error);  // more bits
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE((ternary[2][i] != 0) == (std::abs(x[i]) > static_cast<double>(0.612F)));
}

TEST_CASE("the votes of one worker are its own", "[kernels]") {
  const std::vector<double> x = normal_floats(100, 4);
  const Values signs = run_codec("pack-sign", "encode", count_of(100), {x});
  CHECK(run_codec("pack-sign", "vote", {DType::U32, {{"count", 100}, {"workers", 1}}},
                  {signs[1]})[1] == signs[1]);
  const Values three = run_codec("pack-ternary", "encode", count_of(100), {x, {0.5}});
  CHECK(run_codec("pack-ternary", "vote", {DType::U32, {{"count", 100}, {"workers", 1}}},
                  {three[2]})[1] == three[2]);
}

TEST_CASE("packed votes have exactly the bytes that are said", "[kernels]") {
  for (const std::int64_t count : {1, 32, 33, 1000}) {
    CHECK(output_bytes(operation_named("pack-sign", "encode"), count_of(count), {"words"}) ==
          numeric::sign_bytes(count));
    CHECK(output_bytes(operation_named("pack-ternary", "encode"), count_of(count), {"words"}) ==
          numeric::ternary_bytes(count));
  }
  CHECK(numeric::sign_bytes(1000) == 128);
  CHECK(numeric::ternary_bytes(1000) == 256);
  CHECK(numeric::sign_bytes(1 << 20) * 8 == 1 << 20);
  CHECK(numeric::ternary_bytes(1 << 20) * 8 == 2 << 20);
}

}  // namespace paceline::kernels::votes_test

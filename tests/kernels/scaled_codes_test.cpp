// SPDX-License-Identifier: Apache-2.0
// FP8, INT8 and NVFP4: codes computed by hand, error bounds, bytes on the wire, odd inputs.
#include "base/numeric/scaled_codes.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/kernels/codecs.hpp"

namespace paceline::kernels::scaled_codes_test {

namespace {

struct Format {
  const char* kernel;
  double top;
  int exponent_of_step;  ///< of the step at the smallest normal value
  int mantissa;
};
const Format kFormats[] = {{"quantise-fp8-e4m3", 448, -9, 3}, {"quantise-fp8-e5m2", 57344, -16, 2}};

/// Distance of neighbours at a value.
double step_of(const Format& format, double value) {
  const int exponent = value == 0 ? -1000 : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent - format.mantissa, format.exponent_of_step));
}

Case blocks(std::size_t count, std::int64_t block, DType type = DType::F32) {
  return {type, {{"count", static_cast<std::int64_t>(count)}, {"block", block}}};
}

std::vector<double> through(const char* kernel, const Case& c, const std::vector<double>& x) {
  const Values coded = run_codec(kernel, "encode", c, {x});
  if (kernel == std::string("quantise-nvfp4"))
    return run_codec(kernel, "decode", c, {coded[1], coded[2], coded[3]})[3];
  return run_codec(kernel, "decode", c, {coded[1], coded[2]})[2];
}

/// Numbers of all sizes, so that blocks differ and every binade of a format is met.
std::vector<double> wide_values(std::size_t count, std::uint64_t seed) {
  std::vector<double> x = normal_floats(count, seed);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = static_cast<double>(static_cast<float>(std::ldexp(x[i], static_cast<int>(i % 37) - 30)));
  return x;
}

}  // namespace

TEST_CASE("FP8 codes are those computed by hand", "[kernels]") {
  struct Row {
    float x;
    std::uint32_t e4m3, e5m2;
  };
  // 17 and 1.125 lie in the middle for one of the formats: the even mantissa is next.
  const Row rows[] = {{0, 0x00, 0x00},        {1, 0x38, 0x3c},        {-1.5F, 0xbc, 0xbe},
                      {17, 0x58, 0x4c},       {19, 0x5a, 0x4d},       {1.125F, 0x39, 0x3c},
                      {448, 0x7e, 0x5f},      {1e9F, 0x7e, 0x7b},     {57344, 0x7e, 0x7b},
                      {0x1p-9F, 0x01, 0x18},  {0x1p-10F, 0x00, 0x14}, {0x1.8p-10F, 0x01, 0x16},
                      {0x1p-16F, 0x00, 0x01}, {-0x1p-6F, 0x88, 0xa4}, {0x1.fp-7F, 0x08, 0x24},
                      {0x1.cp-7F, 0x07, 0x23}};
  for (const Row& row : rows) {
    INFO(row.x);
    CHECK(numeric::E4m3::encode(row.x) == row.e4m3);
    CHECK(numeric::E5m2::encode(row.x) == row.e5m2);
  }
}

TEST_CASE("E2M1 codes are those computed by hand", "[kernels]") {
  const float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (std::uint32_t code = 0; code < 8; ++code) {
    CHECK(numeric::E2m1::decode(code) == values[code]);
    CHECK(numeric::E2m1::encode(values[code]) == code);
    CHECK(numeric::E2m1::encode(-values[code]) == code + 8);
  }
  // Ties go to even codes, beyond the top is the top.
  CHECK(numeric::E2m1::encode(0.25F) == 0);
  CHECK(numeric::E2m1::encode(0.75F) == 2);
  CHECK(numeric::E2m1::encode(1.25F) == 2);
  CHECK(numeric::E2m1::encode(2.5F) == 4);
  CHECK(numeric::E2m1::encode(3.5F) == 6);
  CHECK(numeric::E2m1::encode(5) == 6);
  CHECK(numeric::E2m1::encode(5.01F) == 7);
  CHECK(numeric::E2m1::encode(100) == 7);
}

TEST_CASE("an NVFP4 tensor is the one computed by hand", "[kernels]") {
  // Largest magnitude 6 * 448: the tensor's scale is 1. Block scales: 2688 / 6 = 448, code 0x7e;
  // 3 / 6 = 0.5, code 0x30; 0.
  std::vector<double> x(36, 0.0);
  x[0] = 2688;   // 448 * 6
  x[1] = -1344;  // 448 * -3
  x[2] = 100;    // 448 * 0.22: 0
  x[3] = 224;    // 448 * 0.5
  x[16] = 3;     // 0.5 * 6
  x[17] = -0.5;  // 0.5 * -1
  x[31] = 1.25;  // 0.5 * 2.5: a tie, 2 is even
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Case c{DType::F32, {{"count", 36}}};
    const Values coded = run_codec("quantise-nvfp4", "encode", c, {x}, *backend);
    CHECK(coded[3] == std::vector<double>{1});
    CHECK(coded[2] == std::vector<double>{0x7e, 0x30, 0});
    std::vector<double> codes(18, 0.0);
    codes[0] = 0xd7;  // -3 is 0xd
    codes[1] = 0x10;
    codes[8] = 0xa7;
    codes[15] = 0x40;
    CHECK(coded[1] == codes);
    const Values back =
        run_codec("quantise-nvfp4", "decode", c, {coded[1], coded[2], coded[3]}, *backend);
    CHECK(back[3][1] == -1344);
    CHECK(back[3][2] == 0);
    CHECK(back[3][31] == 1);
  }
}

TEST_CASE("FP8 and INT8 err by at most half a step", "[kernels]") {
  const std::int64_t block = GENERATE(0, 7, 32, 128);
  const std::vector<double> x = wide_values(3000, 5);
  const Case c = blocks(x.size(), block);
  const auto share = static_cast<std::size_t>(block == 0 ? 3000 : block);
  // Beside the format's own rounding, quotient and product round to float.
  const double slack = 1 + 4e-7;
  for (const Format& format : kFormats) {
    const Values coded = run_codec(format.kernel, "encode", c, {x});
    const Values back = run_codec(format.kernel, "decode", c, {coded[1], coded[2]});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double scale = coded[2][i / share];
      const double half = step_of(format, std::abs(x[i]) / scale) * scale / 2;
      REQUIRE(std::abs(back[2][i] - x[i]) <= half * slack + std::abs(x[i]) * 4e-7);
    }
  }
  const Values coded = run_codec("quantise-int8", "encode", c, {x});
  const Values back = run_codec("quantise-int8", "decode", c, {coded[1], coded[2]});
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE(std::abs(back[2][i] - x[i]) <= coded[2][i / share] / 2 * slack + std::abs(x[i]) * 4e-7);
}

TEST_CASE("NVFP4 errs by at most half a step, or by what its block's scale was rounded down",
          "[kernels]") {
  const std::vector<double> x = wide_values(3000, 6);
  const Case c{DType::F32, {{"count", 3000}}};
  const Values coded = run_codec("quantise-nvfp4", "encode", c, {x});
  const std::vector<double> back = through("quantise-nvfp4", c, x);
  const double tensor = coded[3][0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double units = numeric::E4m3::decode(static_cast<std::uint32_t>(coded[2][i / 16]));
    const double scale = units * tensor, quotient = std::abs(x[i]) / scale;
    const double step = quotient < 2 ? 0.5 : (quotient < 4 ? 1 : 2);
    const double lost = 6 * tensor * step_of(kFormats[0], units) / 2;  // of 6 scales
    const double bound = units == 0 ? lost : std::max(step * scale / 2, lost);
    REQUIRE(std::abs(back[i] - x[i]) <= bound * (1 + 1e-6));
  }
}

TEST_CASE("formats with more bits have smaller errors", "[kernels]") {
  const std::vector<double> x = normal_floats(1 << 14, 7);
  const Case c = blocks(x.size(), 128);
  std::vector<double> errors;
  for (const char* kernel :
       {"quantise-int8", "quantise-fp8-e4m3", "quantise-fp8-e5m2", "quantise-nvfp4"})
    errors.push_back(relative_error(x, through(kernel, c, x)));
  CHECK(std::is_sorted(errors.begin(), errors.end()));
  // One mantissa bit less: twice the error.
  CHECK(errors[2] / errors[1] == Approx(2).epsilon(0.02));
  CHECK(errors[0] < 0.01);
  CHECK(errors[3] < 0.12);
}

TEST_CASE("smaller blocks never need larger scales", "[kernels]") {
  const std::vector<double> x = wide_values(4096, 8);
  double last = std::numeric_limits<double>::infinity();
  for (const std::int64_t block : {0, 1024, 128, 16, 4}) {
    const Values coded = run_codec("quantise-int8", "encode", blocks(x.size(), block), {x});
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += coded[2][block == 0 ? 0 : i / static_cast<std::size_t>(block)];
    CHECK(sum <= last);
    last = sum;
  }
}

TEST_CASE("quantised tensors have exactly the bytes that are said", "[kernels]") {
  for (const std::int64_t count : {1, 15, 16, 17, 1000}) {
    const Operation& fp8 = operation_named("quantise-fp8-e4m3", "encode");
    for (const std::int64_t block : {0, 16, 128}) {
      const Case c = blocks(static_cast<std::size_t>(count), block);
      CHECK(output_bytes(fp8, c, {"codes", "scales"}) == numeric::scaled_bytes(count, block));
    }
    const Operation& fp4 = operation_named("quantise-nvfp4", "encode");
    CHECK(output_bytes(fp4, {DType::F32, {{"count", count}}}, {"codes", "block_scales", "scale"}) ==
          numeric::nvfp4_bytes(count));
  }
  CHECK(numeric::scaled_bytes(1000, 128) == 1000 + 8 * 4);
  CHECK(numeric::scaled_bytes(1000, 0) == 1004);
  CHECK(numeric::nvfp4_bytes(1000) == 500 + 63 + 4);
  CHECK(numeric::nvfp4_bytes(1 << 20) * 8.0 / (1 << 20) == Approx(4.5).epsilon(1e-4));
}

TEST_CASE("values that a format holds come back exactly", "[kernels]") {
  // Powers of two up to the top, so that the scale is one as well.
  for (const Format& format : kFormats) {
    std::vector<double> x;
    for (std::uint32_t code = 0; code < 128; ++code) {
      const double value =
          format.mantissa == 3 ? numeric::E4m3::decode(code) : numeric::E5m2::decode(code);
      if (std::isfinite(value) && value <= format.top) x.insert(x.end(), {value, -value});
    }
    for (double& value : x) value *= 0.25;
    CHECK(through(format.kernel, blocks(x.size(), 0), x) == x);
  }
  std::vector<double> whole;
  for (int i = -127; i <= 127; ++i) whole.push_back(i * 0.5);
  CHECK(through("quantise-int8", blocks(whole.size(), 0), whole) == whole);
}

TEST_CASE("zeros, infinities, NaN and tiny numbers are quantised in a defined way", "[kernels]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> zeros(40, 0.0);
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const auto coded = [&](const char* kernel, const std::vector<double>& x) {
      return run_codec(kernel, "encode", blocks(x.size(), 0), {x}, *backend);
    };
    for (const char* kernel : {"quantise-fp8-e4m3", "quantise-fp8-e5m2", "quantise-int8"}) {
      INFO(kernel << " on " << backend->name);
      CHECK(coded(kernel, zeros)[1] == zeros);
      CHECK(std::isfinite(coded(kernel, {infinity, 1})[2][0]));
      CHECK(std::isfinite(coded(kernel, {1e-40, -3e-42})[2][0]));
    }
    CHECK(coded("quantise-int8", {infinity, -infinity, NAN, 1})[1] ==
          std::vector<double>{127, 129, 0, 0});
    CHECK(coded("quantise-fp8-e4m3", {infinity, -infinity, 1})[1] ==
          std::vector<double>{0x7e, 0xfe, 0});
    const double nan = coded("quantise-fp8-e4m3", {NAN, 448})[1][0];
    CHECK((nan == 0x7f || nan == 0xff));
    CHECK(coded("quantise-fp8-e4m3", {NAN, 448})[1][1] == 0x7e);
    const Values fp4 =
        run_codec("quantise-nvfp4", "encode", {DType::F32, {{"count", 40}}}, {zeros}, *backend);
    CHECK(fp4[1] == std::vector<double>(20, 0.0));
  }
}

}  // namespace paceline::kernels::scaled_codes_test

// SPDX-License-Identifier: Apache-2.0
// Memory-bound kernels: what must hold whatever their references say.
#include "kernels/rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "kernels/check.hpp"
#include "kernels/gelu/gelu.hpp"
#include "kernels/rope/rope.hpp"
#include "kernels/swiglu/swiglu.hpp"
#include "tests/kernels/named.hpp"

using namespace paceline::kernels;

namespace {

const Backend& backend() { return GENERATE(true, false) ? cpu_backend() : simt_backend(); }

/// Positions 0, step, 2 step, ... as rope reads them.
Named angles(const Case& c, std::int64_t step) {
  Named result;
  const std::int64_t dim = c.shape["head_dim"];
  for (std::int64_t row = 0; row < c.shape["rows"]; ++row) {
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      result["cos"].push_back(std::cos(rope_angle(row * step, i, dim)));
      result["sin"].push_back(std::sin(rope_angle(row * step, i, dim)));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("rows of a softmax add up to one and do not care for a shift", "[kernels]") {
  const Case c{DType::F32, {{"rows", 3}, {"columns", 50}}};
  const Operation& softmax = operation("softmax", "forward");
  Named inputs = random_inputs(softmax, c, 1);
  const Backend& where = backend();
  const std::vector<double> y = on(where, softmax, c, inputs)["y"];
  for (double& x : inputs["x"]) x += 64;
  const std::vector<double> shifted = on(where, softmax, c, inputs)["y"];
  for (int row = 0; row < 3; ++row)
    CHECK(std::accumulate(y.begin() + row * 50, y.begin() + row * 50 + 50, 0.0) == Approx(1));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(shifted[i] == Approx(y[i]).epsilon(1e-4));
}

TEST_CASE("normalised rows have mean 0 and variance 1, or mean square 1", "[kernels]") {
  const Case c{DType::F32, {{"rows", 2}, {"columns", 640}}};
  const Backend& where = backend();
  for (const char* kernel : {"layernorm", "rmsnorm"}) {
    const Operation& norm = operation(kernel, "forward");
    Named inputs = random_inputs(norm, c, 1);
    for (double& x : inputs["x"]) x = 3 * x + 5;
    inputs["w"].assign(640, 1);
    inputs["b"].assign(640, 0);
    const std::vector<double> y = on(where, norm, c, inputs)["y"];
    const double sum = std::accumulate(y.begin(), y.begin() + 640, 0.0);
    const double squares = std::inner_product(y.begin(), y.begin() + 640, y.begin(), 0.0);
    CHECK(squares == Approx(640));
    if (kernel == std::string_view("layernorm")) CHECK(std::abs(sum) < 1e-2);
  }
}

TEST_CASE("GELU and SwiGLU at points computed by hand", "[kernels]") {
  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), to ten digits.
  CHECK(gelu(0) == 0);
  CHECK(gelu(1) == Approx(0.8411919906));
  CHECK(gelu(-1) == Approx(-0.1588080094));
  CHECK(gelu(2) == Approx(1.9545976940));
  CHECK(gelu_slope(0) == 0.5F);
  CHECK(gelu(20) == 20);
  CHECK(gelu(-20) == 0);
  CHECK(swiglu(1, 2) == Approx(2 / (1 + std::exp(-1.0))));
  CHECK(swiglu(-100, 3) == Approx(0).margin(1e-30));
  CHECK(swiglu_slopes(0, 3).gate == 1.5F);
  CHECK(swiglu_slopes(0, 3).up == 0);
}

TEST_CASE("the slope of GELU keeps its digits far from zero", "[kernels]") {
  const double scale = std::sqrt(2 / 3.14159265358979323846);
  for (double x = -8; x < 8; x += 0.0123) {
    const auto input = static_cast<float>(x);
    const double at = input, t = std::tanh(scale * (at + 0.044715 * at * at * at));
    const double slope = (1 + t) / 2 + at / 2 * (1 - t * t) * scale * (1 + 3 * 0.044715 * at * at);
    CHECK(gelu_slope(input) == Approx(slope).margin(4e-7).epsilon(0));
  }
}

TEST_CASE("the exponential is right to two units in the last place", "[kernels]") {
  using paceline::numeric::exp_of;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (double x = -87; x < 88.7; x += 0.0123) {
    const auto input = static_cast<float>(x);
    CHECK(exp_of(input) == Approx(std::exp(double{input})).epsilon(2.4e-7));
  }
  CHECK(exp_of(0) == 1);
  CHECK(exp_of(-kInfinity) == 0);
  CHECK(exp_of(kInfinity) == kInfinity);
  CHECK(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
  CHECK(exp_of(-90) == Approx(std::exp(-90.0)).epsilon(1e-3));  // a subnormal number
  CHECK(exp_of(88.7F) == Approx(std::exp(double{88.7F})).epsilon(1e-6));
}

TEST_CASE("RoPE leaves position 0, keeps lengths, is undone by its gradient", "[kernels]") {
  const Case c{DType::F32, {{"rows", 4}, {"heads", 2}, {"head_dim", 16}}};
  const Operation &forward = operation("rope", "forward"),
                  &back = operation("rope", "input-gradient");
  const Backend& where = backend();
  Named inputs = angles(c, 7);
  inputs["x"] = random_inputs(forward, c, 1)["x"];
  const std::vector<double>& x = inputs["x"];
  const std::vector<double> y = on(where, forward, c, inputs)["y"];
  inputs["dy"] = y;
  const std::vector<double> again = on(where, back, c, inputs)["dx"];
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i < 32) CHECK(y[i] == Approx(x[i]));
    CHECK(again[i] == Approx(x[i]).margin(1e-6));
    const std::size_t pair = i % 16 < 8 ? i + 8 : i - 8;
    CHECK(std::hypot(y[i], y[pair]) == Approx(std::hypot(x[i], x[pair])));
  }
}

TEST_CASE("RoPE's scores depend on the distance of positions alone", "[kernels]") {
  // The same query and key in every row: query row a times key row a + 1 is the same for all a.
  const Case c{DType::F32, {{"rows", 6}, {"heads", 1}, {"head_dim", 8}}};
  const Operation& forward = operation("rope", "forward");
  const auto turned = [&](std::uint64_t seed) {
    Named inputs = angles(c, 1);
    const std::vector<double> once =
        random_inputs(forward, {c.type, {{"rows", 1}, {"heads", 1}, {"head_dim", 8}}}, seed)["x"];
    for (int row = 0; row < 6; ++row)
      inputs["x"].insert(inputs["x"].end(), once.begin(), once.end());
    return on(cpu_backend(), forward, c, inputs)["y"];
  };
  const std::vector<double> q = turned(1), k = turned(2);
  const auto score = [&](int a, int b) {
    return std::inner_product(q.begin() + 8 * a, q.begin() + 8 * a + 8, k.begin() + 8 * b, 0.0);
  };
  for (int a = 1; a < 5; ++a) CHECK(score(a, a + 1) == Approx(score(0, 1)));
  CHECK(score(0, 2) != Approx(score(0, 1)));
}

TEST_CASE("rows longer than registers hold are read again", "[kernels]") {
  for (const char* kernel : {"rmsnorm", "layernorm", "softmax"}) {
    for (const char* pass : {"forward", "input-gradient"}) {
      const CheckResult result =
          check(operation(kernel, pass), {DType::Bf16, {{"rows", 1}, {"columns", 16424}}},
                simt_backend(), 1);
      INFO(kernel << " " << pass << ": " << result.problem);
      CHECK(result.passed);
    }
  }
}

TEST_CASE("tensors that do not lie on 16 bytes are read one element at a time", "[kernels]") {
  for (const Operation& o : operations()) {
    if (!o.test_shapes()[0].has("columns")) continue;
    const std::vector<Shape> shapes = row_test_shapes();
    if (o.test_shapes() != shapes) continue;
    const Case c{DType::F32, {{"rows", 2}, {"columns", 40}}};
    const Named inputs = random_inputs(o, c, 1);
    const Named aligned = on(simt_backend(), o, c, inputs),
                shifted = on(simt_backend(), o, c, inputs, 4);
    for (const TensorSpec& spec : o.tensors(c)) {
      if (spec.use != Use::Out) continue;
      INFO(o.kernel << " " << o.pass << " " << spec.name);
      for (std::size_t i = 0; i < aligned.at(spec.name).size(); ++i)
        CHECK(shifted.at(spec.name)[i] == Approx(aligned.at(spec.name)[i]).margin(1e-5));
    }
  }
}

TEST_CASE("sums over columns use slices of at least 32 rows and at most 1024 blocks", "[kernels]") {
  for (const std::int64_t rows : {1, 31, 4096, 100000}) {
    for (const std::int64_t columns : {1, 256, 5120, 400000}) {
      const std::int64_t slices = column_slice_count(rows, columns);
      CHECK(slices >= 1);
      CHECK((slices == 1 || rows > 32 * (slices - 1)));
      CHECK((slices == 1 || slices * ((columns + 255) / 256) <= 1024));
    }
  }
}

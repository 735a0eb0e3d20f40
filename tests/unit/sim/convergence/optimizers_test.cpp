// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/optimizers.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"
#include "sim/convergence/matrix.hpp"
#include "tests/unit/sim/convergence/small.hpp"

using namespace paceline;
using namespace paceline::sim::convergence;

namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  std::vector<float> x(count);
  for (float& v : x) v = static_cast<float>(base::standard_normal(rng));
  return x;
}

}  // namespace

TEST_CASE("AdamW and momentum take the steps of the kernels' arithmetic to the bit", "[sim]") {
  const std::vector<Block> blocks{{"a", 0, 3, 4, Role::Matrix}, {"b", 12, 5, 1, Role::Vector}};
  std::vector<float> adam = normal_numbers(17, 1), heavy = adam, kernel = adam, other = adam;
  std::vector<float> moments(2 * 17, 0.0F), momentum(17, 0.0F);
  OptimizerState adam_state, heavy_state;
  Optimizer adamw = default_optimizer("adamw");
  adamw.decay = 0.1;
  for (int k = 1; k <= 5; ++k) {
    const std::vector<float> g = normal_numbers(17, 10 + static_cast<std::uint64_t>(k));
    step(adamw, 0.01, blocks, adam_state, g, adam);
    step(default_optimizer("nesterov"), 0.01, blocks, heavy_state, g, heavy);
    const auto rule = numeric::adamw(0.01, 0.9, 0.95, 1e-8, 0.1, k);
    const numeric::Sgd sgd{0.01F, 0.9F, 0, 1};
    for (std::size_t i = 0; i < 17; ++i) {
      update(rule, g[i], kernel[i], &moments[2 * i]);
      update(sgd, g[i], other[i], &momentum[i]);
    }
  }
  CHECK(adam == kernel);
  CHECK(heavy == other);
}

TEST_CASE("first steps have their closed forms", "[sim]") {
  const std::vector<Block> blocks{{"x", 0, 4, 1, Role::Vector}};
  const std::vector<float> g{0.5F, -2, 8, 0.125F};
  const auto moved = [&](const char* name) {
    std::vector<float> w(4, 0.0F);
    OptimizerState state;
    step(default_optimizer(name), 0.25, blocks, state, g, w);
    return w;
  };
  const std::vector<float> signs{-0.25F, 0.25F, -0.25F, -0.25F};
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(i);
    CHECK(moved("sgd")[i] == -0.25F * g[i]);
    CHECK(moved("nesterov")[i] == Approx(-0.25 * 1.9 * static_cast<double>(g[i])));
    CHECK(moved("lion")[i] == signs[i]);
    CHECK(moved("adamw")[i] == Approx(signs[i]).epsilon(1e-6));
    CHECK(moved("adan")[i] == Approx(signs[i]).epsilon(1e-6));
    // (1 - b1) g / sqrt((1 - b2) g^2)
    CHECK(moved("adams")[i] == Approx(signs[i] * 0.1 / std::sqrt(0.05)).epsilon(1e-5));
  }
}

TEST_CASE("Newton-Schulz makes a matrix nearly orthogonal and keeps its shape", "[sim]") {
  for (const auto& [rows, columns] : {std::pair{6, 4}, std::pair{4, 6}}) {
    std::vector<float> m = normal_numbers(24, 5);
    orthogonalise(m, rows, columns);
    const int side = std::min(rows, columns);
    for (int i = 0; i < side; ++i) {
      double sum = 0;
      for (int k = 0; k < std::max(rows, columns); ++k) {
        const int at = rows > columns ? k * columns + i : i * columns + k;
        sum += static_cast<double>(m[static_cast<std::size_t>(at)]) *
               static_cast<double>(m[static_cast<std::size_t>(at)]);
      }
      CHECK(std::sqrt(sum) > 0.6);  // singular values end in 0.68 to 1.13
      CHECK(std::sqrt(sum) < 1.2);
    }
  }
}

TEST_CASE("SOAP's first step of a diagonal gradient is AdamW's", "[sim]") {
  const std::vector<Block> blocks{{"w", 0, 3, 3, Role::Matrix}};
  const std::vector<float> g{4, 0, 0, 0, -1, 0, 0, 0, 0.5F};
  std::vector<float> w(9, 0.0F);
  OptimizerState state;
  step(default_optimizer("soap"), 0.1, blocks, state, g, w);
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(w[i] == Approx(g[i] > 0 ? -0.1 : (g[i] < 0 ? 0.1 : 0)).margin(1e-6));
}

TEST_CASE("Ember's second moment of a rank-one gradient is Adam's", "[sim]") {
  // g_ij = a_i b_j: r_i c_j / s = g_ij^2, so a first step is the rate.
  const std::vector<Block> blocks{{"t", 0, 3, 2, Role::Table}};
  const std::vector<float> g{1, -2, 3, -6, 0.5F, -1};
  std::vector<float> w(6, 0.0F);
  OptimizerState state;
  step(default_optimizer("ember"), 0.1, blocks, state, g, w);
  for (std::size_t i = 0; i < 6; ++i) CHECK(w[i] == Approx(g[i] > 0 ? -0.1 : 0.1).epsilon(1e-4));
}

TEST_CASE("every optimizer brings a matrix quadratic down", "[sim]") {
  const Objective f = tests::objective_of("{kind: matrix-quadratic, size: 6, condition: 10}");
  for (const OptimizerKind& kind : optimizer_kinds()) {
    INFO(kind.name);
    Training t = tests::training_of(400, 0.1);
    t.schedule = {RateSchedule::Shape::Cosine, 0.1, 0.1};
    const Run run = tests::run_of(f, "{kind: synchronous}", t, std::string(kind.name).c_str());
    CHECK(run.curve.back().loss < 0.5 * run.curve.front().loss);
    CHECK(run.curve.size() == 5);
    CHECK(run.curve.back().step == 400);
  }
}

TEST_CASE("rates warm up and fall to their floor", "[sim]") {
  const RateSchedule cosine{RateSchedule::Shape::Cosine, 0.1, 0.2};
  CHECK(rate_at(cosine, 1, 0, 100) == Approx(0.1));
  CHECK(rate_at(cosine, 1, 9, 100) == Approx(1));
  CHECK(rate_at(cosine, 1, 10, 100) == Approx(1));
  CHECK(rate_at(cosine, 1, 99, 100) == Approx(0.2));
  CHECK(rate_at({RateSchedule::Shape::Linear, 0, 0}, 2, 50, 101) == Approx(1));
  CHECK(rate_at({}, 2, 50, 101) == 2);
  std::vector<float> g{3, 4};
  clip_norm(g, 1);
  CHECK(g[0] == Approx(0.6));
  clip_norm(g, 5);
  CHECK(g[1] == Approx(0.8));
}

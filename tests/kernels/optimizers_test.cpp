// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/optimizers.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"
#include "kernels/check.hpp"
#include "kernels/ember/ember.hpp"
#include "kernels/forge/forge.hpp"
#include "kernels/muon/muon.hpp"
#include "kernels/simt/mma.hpp"
#include "tests/kernels/by_hand.hpp"

using namespace paceline;
using namespace paceline::kernels;

namespace {

using List = std::vector<double>;

List normals(std::int64_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  List result(static_cast<std::size_t>(count));
  for (double& value : result) value = base::standard_normal(rng);
  return result;
}

List settings(const numeric::AdamW& a) {
  return {double{a.rate},  double{a.beta1},       double{a.beta2},      double{a.epsilon},
          double{a.decay}, double{a.correction1}, double{a.correction2}};
}

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> both = {&cpu_backend(), &simt_backend()};
  return both;
}

/// Eigenvalues of a symmetric n x n matrix by Jacobi's rotations.
List eigenvalues(List a, std::size_t n) {
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::abs(a[p * n + q]) < 1e-15) continue;
        const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
        }
      }
    }
  }
  List result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(a[i * n + i]);
  return result;
}

/// Of a rows x columns matrix, rows not more than columns.
List singular_values(const List& x, std::size_t rows, std::size_t columns) {
  List gram(rows * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t k = 0; k < columns; ++k)
        gram[i * rows + j] += x[i * columns + k] * x[j * columns + k];
    }
  }
  List result = eigenvalues(gram, rows);
  for (double& value : result) value = std::sqrt(std::max(0.0, value));
  return result;
}

List transposed(const List& x, std::size_t rows, std::size_t columns) {
  List result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i % columns * rows + i / columns] = x[i];
  return result;
}

/// Muon's first step from zero weights at rate and scale 1, without decay: -w is the update.
List muon_update(DType type, std::int64_t rows, std::int64_t columns, const List& gradient,
                 const Backend& backend) {
  Values v(type == DType::F32 ? 9 : 10);
  v[kMuonGradient] = gradient;
  v[kMuonWeight] = v[kMuonMomentum] = {0};
  v[kMuonSettings] = {1, 0.95, 0, 1};
  const Values result = run_by_hand(operation_named("muon", "step"),
                                    {type, {{"rows", rows}, {"columns", columns}}}, backend, v);
  List update = result[kMuonWeight];
  for (double& value : update) value = -value;
  return update;
}

/// One AdamW step of forge, and of the weight-gradient product followed by adamw.
void check_forge(DType type, const Backend& backend, std::int64_t n, std::int64_t k) {
  const std::int64_t m = 21;
  const List dy = normals(m * n, 1), x = normals(m * k, 2), w = normals(n * k, 3),
             first = normals(n * k, 4);
  const numeric::AdamW rule = numeric::adamw(0.01, 0.9, 0.99, 1e-6, 0.1, 3);
  const Case c{type, {{"m", m}, {"n", n}, {"k", k}, {"parameters", n * k}}};
  Values two_steps = {{}, w, first, {0.5}, settings(rule), {}};
  two_steps[0] =
      run_by_hand(operation_named("gemm", "weight-gradient"), c, backend, {dy, x, {0}})[2];
  Values one_step = {dy, x, w, first, {0.5}, settings(rule), {}};
  if (type == DType::F32) {
    two_steps.pop_back();
    one_step.pop_back();
  }
  const Values wanted = run_by_hand(operation_named("adamw", "step"), c, backend, two_steps);
  const Values got = run_by_hand(operation_named("forge", "step"), c, backend, one_step);
  REQUIRE(got.size() == wanted.size() + 1);
  for (std::size_t t = 1; t < wanted.size(); ++t) {
    const double rounding = t == 5 ? 0.01 : 1e-6;  // the copy may round the other way
    for (std::size_t i = 0; i < wanted[t].size(); ++i)
      REQUIRE(got[t + 1][i] == Approx(wanted[t][i]).epsilon(rounding).margin(1e-6));
  }
}

}  // namespace

TEST_CASE("AdamW without a gradient only decays", "[kernels]") {
  const numeric::AdamW rule = numeric::adamw(0.25, 0.9, 0.999, 1e-8, 0.5, 1);
  for (const Backend* backend : backends()) {
    const Values v =
        run_by_hand(operation_named("adamw", "step"), {DType::F32, {{"parameters", 9}}}, *backend,
                    {{0}, {8}, {0}, {0}, settings(rule)});
    CHECK(v[1] == List(9, 7));  // 8 (1 - 0.25 * 0.5)
    CHECK(v[2] == List(9, 0));
    CHECK(v[3] == List(9, 0));
  }
}

TEST_CASE("two steps of AdamW by hand", "[kernels]") {
  for (const Backend* backend : backends()) {
    const auto step = [&](double number, double gradient, const Values& v) {
      const numeric::AdamW rule = numeric::adamw(0.1, 0.9, 0.99, 1e-8, 0.01, number);
      return run_by_hand(operation_named("adamw", "step"), {DType::F32, {{"parameters", 1}}},
                         *backend, {{gradient}, v[1], v[2], v[3], settings(rule)});
    };
    Values v = step(1, 0.5, {{}, {1}, {0}, {0}});
    CHECK(v[1][0] == Approx(0.899));  // the first step has the size of the rate: 1 - 0.1 (1 + 0.01)
    CHECK(v[2][0] == Approx(0.05));
    CHECK(v[3][0] == Approx(0.0025));
    v = step(2, -1, v);
    CHECK(v[1][0] == Approx(0.93466177).epsilon(1e-6));
    CHECK(v[2][0] == Approx(-0.055));
    CHECK(v[3][0] == Approx(0.012475));
  }
}

TEST_CASE("narrow cases copy the updated weights, rounded", "[kernels]") {
  const numeric::AdamW rule = numeric::adamw(0.1, 0.9, 0.99, 1e-8, 0.01, 1);
  const Values v =
      run_by_hand(operation_named("adamw", "step"), {DType::Bf16, {{"parameters", 50}}},
                  cpu_backend(), {normals(50, 1), normals(50, 2), {0}, {0}, settings(rule), {}});
  for (std::size_t i = 0; i < 50; ++i)
    CHECK(v[5][i] ==
          static_cast<double>(static_cast<float>(numeric::bf16(static_cast<float>(v[1][i])))));
}

TEST_CASE("a step of momentum by hand, plain and Nesterov's", "[kernels]") {
  for (const Backend* backend : backends()) {
    const auto weight = [&](double nesterov) {
      const Values v =
          run_by_hand(operation_named("sgd", "step"), {DType::F32, {{"parameters", 5}}}, *backend,
                      {{2}, {4}, {1}, {0.5, 0.75, 0.25, nesterov}});
      CHECK(v[2] == List(5, 3.75));  // m = 0.75 * 1 + (2 + 0.25 * 4)
      return v[1];
    };
    CHECK(weight(0) == List(5, 2.125));    // 4 - 0.5 * 3.75
    CHECK(weight(1) == List(5, 1.09375));  // 4 - 0.5 (3 + 0.75 * 3.75)
  }
}

TEST_CASE("Muon's update has singular values near 1", "[kernels]") {
  const List gradient = normals(16 * 24, 5);
  for (const DType type : {DType::F32, DType::Bf16}) {
    for (const Backend* backend : backends()) {
      const List update = muon_update(type, 16, 24, gradient, *backend);
      for (const double value : singular_values(update, 16, 24)) {
        CHECK(value > 0.65);
        CHECK(value < 1.25);
      }
    }
  }
}

TEST_CASE("Muon of a transposed gradient is the transposed update", "[kernels]") {
  const List gradient = normals(8 * 20, 6);
  const List wide = muon_update(DType::F32, 8, 20, gradient, cpu_backend());
  const List tall = muon_update(DType::F32, 20, 8, transposed(gradient, 8, 20), cpu_backend());
  const List again = transposed(tall, 20, 8);
  for (std::size_t i = 0; i < wide.size(); ++i) CHECK(again[i] == Approx(wide[i]).margin(1e-4));
}

TEST_CASE("Muon of a diagonal gradient iterates the published polynomial", "[kernels]") {
  const List diagonal = {3, -1, 0.5, 0};
  List gradient(16);
  for (std::size_t i = 0; i < 4; ++i) gradient[5 * i] = diagonal[i];
  const List update = muon_update(DType::F32, 4, 4, gradient, cpu_backend());
  for (std::size_t i = 0; i < 4; ++i) {
    double x = diagonal[i] / std::sqrt(10.25);
    for (int step = 0; step < 5; ++step) x = x * (3.4445 + x * x * (-4.7750 + 2.0315 * x * x));
    CHECK(update[5 * i] == Approx(x).epsilon(1e-4).margin(1e-6));
    CHECK(update[4 * i + (i + 1) % 4] == Approx(0).margin(1e-6));
  }
}

TEST_CASE("Ember's state is the published 1513 times smaller than Adam's", "[kernels]") {
  const Case c{DType::F32, {{"rows", 50304}, {"columns", 768}}};
  double bytes = 0;
  for (const TensorSpec& t : operation_named("ember", "step").tensors(c)) {
    if (t.use == Use::InOut && std::string_view(t.name) != "w")
      bytes += static_cast<double>(t.count) * 4;
  }
  CHECK(8 * 50304.0 * 768 / bytes == Approx(1513).margin(0.5));
}

TEST_CASE("Ember is Adam without momentum where squares have rank one", "[kernels]") {
  const std::int64_t rows = 5, columns = 7;
  List gradient, g_rows = normals(rows, 1), g_columns = normals(columns, 2);
  for (const double a : g_rows) {
    for (const double b : g_columns) gradient.push_back(a * b);
  }
  const Case c{DType::F32, {{"rows", rows}, {"columns", columns}, {"parameters", rows * columns}}};
  const double correction = 1 - 0.99;
  for (const Backend* backend : backends()) {
    Values v(8);
    v[kEmberGradient] = gradient;
    v[kEmberWeight] = v[kEmberRows] = v[kEmberColumns] = v[kEmberAll] = {0};
    v[kEmberSettings] = {0.1, 0.99, 1e-3, correction};
    const Values ember = run_by_hand(operation_named("ember", "step"), c, *backend, v);
    numeric::AdamW rule = numeric::adamw(0.1, 0, 0.99, 1e-3, 0, 1);
    const Values adam = run_by_hand(operation_named("adamw", "step"), c, *backend,
                                    {gradient, {0}, {0}, {0}, settings(rule)});
    for (std::size_t i = 0; i < gradient.size(); ++i)
      CHECK(ember[kEmberWeight][i] == Approx(adam[1][i]).epsilon(1e-4));
  }
}

TEST_CASE("Ember without any gradient leaves the table as it is", "[kernels]") {
  for (const Backend* backend : backends()) {
    Values v(9);
    v[kEmberGradient] = v[kEmberRows] = v[kEmberColumns] = v[kEmberAll] = {0};
    v[kEmberWeight] = normals(12, 1);
    v[kEmberSettings] = {0.1, 0.99, 1e-8, 0.01};
    const Values result = run_by_hand(operation_named("ember", "step"),
                                      {DType::F16, {{"rows", 3}, {"columns", 4}}}, *backend, v);
    for (std::size_t i = 0; i < 12; ++i)
      CHECK(result[kEmberWeight][i] == static_cast<double>(static_cast<float>(v[1][i])));
  }
}

TEST_CASE("forge is the weight gradient followed by AdamW", "[kernels]") {
  for (const Backend* backend : backends()) {
    for (const DType type : {DType::F32, DType::Bf16, DType::F16}) {
      check_forge(type, *backend, 10, 36);
      check_forge(type, *backend, 16, 40);  // aligned: tensor cores
    }
  }
}

TEST_CASE("forge runs on tensor cores where rows are aligned, without bank conflicts",
          "[kernels]") {
  const auto forge = [](std::int64_t n) {
    const Case c{DType::Bf16, {{"m", 33}, {"n", n}, {"k", 136}}};
    const simt::BankStatistics before = simt::bank_statistics();
    CHECK(check(operation_named("forge", "step"), c, simt_backend(), 1).passed);
    const simt::BankStatistics after = simt::bank_statistics();
    return simt::BankStatistics{after.reads - before.reads, after.conflicts - before.conflicts};
  };
  CHECK(forge(136).reads > 0);
  CHECK(forge(136).conflicts == 0);
  CHECK(forge(129).reads == 0);
}

TEST_CASE("forge stores no gradient", "[kernels]") {
  const Case c{DType::Bf16, {{"m", 8}, {"n", 16}, {"k", 32}}};
  double per_weight = 0;
  for (const TensorSpec& t : operation_named("forge", "step").tensors(c)) {
    if (t.count == 16 * 32)
      per_weight += static_cast<double>(bytes_of(t.type));
    else
      CHECK(t.use == Use::In);
  }
  CHECK(per_weight == 14);  // master, two states, copy; 18 with a gradient
}

// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"
#include "tests/unit/sim/convergence/small.hpp"

using namespace paceline;
using namespace paceline::sim::convergence;
using tests::objective_of;

namespace {

/// Change of the batch's loss when one block moves along its gradient: by the gradient, and by the
/// loss at two places beside. Weights are fp32, so the way between the places is measured.
std::pair<double, double> changes(const Objective& f, const Batch& batch, const Block& block,
                                  std::span<const float> at) {
  std::vector<float> ahead(at.begin(), at.end()), behind = ahead, gradient(f.size());
  f.gradient(at, at, batch, gradient);
  double norm = 0;
  for (std::size_t i = block.first; i < block.first + block.size(); ++i)
    norm += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  double along = 0;
  for (std::size_t i = block.first; i < block.first + block.size(); ++i) {
    const auto step = static_cast<float>(1e-5 * static_cast<double>(gradient[i]) / std::sqrt(norm));
    ahead[i] += step;
    behind[i] -= step;
    along += static_cast<double>(gradient[i]) *
             (static_cast<double>(ahead[i]) - static_cast<double>(behind[i]));
  }
  std::vector<float> unused(f.size());
  return {along,
          f.gradient(ahead, ahead, batch, unused) - f.gradient(behind, behind, batch, unused)};
}

}  // namespace

TEST_CASE("gradients of every objective are the slopes of its loss", "[sim]") {
  for (const char* yaml :
       {"{kind: quadratic, size: 12, condition: 30}",
        "{kind: quadratic, size: 12, hessian: tridiagonal}", "{kind: matrix-quadratic, size: 5}",
        "{kind: least-squares, samples: 20, size: 9}",
        "{kind: logistic, samples: 20, size: 9, l2: 0.1}",
        "{kind: factorisation, rows: 6, columns: 5, rank: 2}",
        "{kind: softmax, samples: 30, inputs: 7, classes: 4}",
        "{kind: mlp, widths: [6, 8, 7, 4], samples: 30}",
        "{kind: bigram, tokens: 12, width: 4, samples: 50}",
        "{kind: transformer, layers: 2, width: 8, heads: 2, sequence: 6}",
        "{kind: transformer, layers: 2, width: 8, sequence: 6, boundary: {rank: 3, anchor: "
        "true}}"}) {
    INFO(yaml);
    const Objective f = objective_of(yaml);
    base::Rng rng(7);
    std::vector<float> at = f.start;  // and away from where the start is special
    for (float& w : at) w += static_cast<float>(0.1 * base::standard_normal(rng));
    for (const Block& block : f.blocks) {
      INFO(block.name);
      const auto [along, between] = changes(f, draw_batch(f, 1, 0, 5), block, at);
      CHECK(along > 1e-12);
      CHECK(between == Approx(along).epsilon(1e-3));
    }
  }
}

TEST_CASE("a learned basis stays orthonormal and its gradient along the manifold", "[sim]") {
  const Objective f = objective_of(
      "{kind: transformer, width: 8, sequence: 6, boundary: {rank: 3, basis: learned}}");
  const Block basis = f.blocks.back();
  REQUIRE(basis.name == "basis");
  const auto product = [&](std::span<const float> a, std::span<const float> b, std::size_t i,
                           std::size_t j) {
    double sum = 0;
    for (std::size_t r = 0; r < 8; ++r)
      sum += static_cast<double>(a[basis.first + 3 * r + i]) *
             static_cast<double>(b[basis.first + 3 * r + j]);
    return sum;
  };
  std::vector<float> gradient(f.size()), moved = f.start;
  f.gradient(f.start, f.start, draw_batch(f, 1, 0, 4), gradient);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= 0.3F * gradient[i];
  f.retract(moved);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(product(moved, moved, i, j) == Approx(i == j ? 1 : 0).margin(1e-5));
      const double change = product(f.start, gradient, i, j) + product(gradient, f.start, i, j);
      CHECK(change == Approx(0).margin(1e-6));
    }
  }
}

TEST_CASE("layers go back through the weights they are told to", "[sim]") {
  const Objective f = objective_of("{kind: mlp, widths: [5, 6, 3], samples: 20}");
  std::vector<float> same(f.size()), crossed(f.size()), newer = f.start;
  const Batch batch = draw_batch(f, 1, 0, 4);
  const Block& head = f.blocks.back();
  for (std::size_t i = head.first; i < f.size(); ++i) newer[i] *= 2;
  const double loss = f.gradient(f.start, f.start, batch, same);
  CHECK(f.gradient(f.start, newer, batch, crossed) == loss);
  // The head's own gradient does not go through it; that of the layer before doubles.
  for (std::size_t i = 0; i < f.size(); ++i)
    CHECK(crossed[i] == Approx(i < head.first ? 2 * same[i] : same[i]).margin(1e-9));
}

TEST_CASE("objectives depend on their seed and on nothing else", "[sim]") {
  const char* yaml = "{kind: logistic, samples: 20, size: 9}";
  const Objective a = objective_of(yaml, 3), b = objective_of(yaml, 3), c = objective_of(yaml, 4);
  CHECK(a.loss(a.start) == b.loss(b.start));
  CHECK(a.optimum == b.optimum);
  CHECK(a.optimum != c.optimum);
  CHECK(a.optimum < a.loss(a.start));
  CHECK(draw_batch(a, 3, 5, 8) == draw_batch(b, 3, 5, 8));
  CHECK(draw_batch(a, 3, 5, 8) != draw_batch(a, 3, 6, 8));
}

// SPDX-License-Identifier: Apache-2.0
// Cross-entropy: closed forms, and the vocabulary in chunks against the whole of it.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "tests/kernels/named.hpp"

using namespace paceline::kernels;

namespace {

constexpr std::int64_t kRows = 5, kVocab = 37, kHidden = 8;

/// The product of every layer and its gradients, for one chunk of the vocabulary.
struct Head {
  std::vector<double> x, w;  ///< [kRows, kHidden], [kVocab, kHidden]

  double logit(std::int64_t row, std::int64_t column) const {
    return std::inner_product(x.begin() + row * kHidden, x.begin() + (row + 1) * kHidden,
                              w.begin() + column * kHidden, 0.0);
  }
  std::vector<double> logits(std::int64_t first, std::int64_t columns) const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < kRows * columns; ++i)
      result.push_back(logit(i / columns, first + i % columns));
    return result;
  }
  /// dx += dlogits * w
  void add_dx(const std::vector<double>& dlogits, std::int64_t first, std::int64_t columns,
              std::vector<double>& dx) const {
    for (std::int64_t i = 0; i < kRows * columns; ++i) {
      for (std::int64_t k = 0; k < kHidden; ++k)
        dx[static_cast<std::size_t>(i / columns * kHidden + k)] +=
            dlogits[static_cast<std::size_t>(i)] *
            w[static_cast<std::size_t>((first + i % columns) * kHidden + k)];
    }
  }
};

Head random_head() {
  paceline::base::Rng rng(11);
  Head head;
  for (std::int64_t i = 0; i < kRows * kHidden; ++i)
    head.x.push_back(paceline::base::standard_normal(rng));
  for (std::int64_t i = 0; i < kVocab * kHidden; ++i)
    head.w.push_back(paceline::base::standard_normal(rng));
  return head;
}

struct Passed {
  Named state;  ///< loss, lse
  std::vector<double> dx;
};

/// Both passes over the vocabulary, `chunk` columns at a time; logits live for one chunk.
Passed in_chunks(const Backend& backend, const Head& head, std::int64_t chunk, Named state) {
  const auto each = [&](const char* pass, const auto& f) {
    for (std::int64_t first = 0; first < kVocab; first += chunk) {
      const std::int64_t columns = std::min(chunk, kVocab - first);
      const Case c{DType::F32,
                   {{"rows", kRows}, {"vocab", kVocab}, {"chunk", columns}, {"first", first}}};
      state["logits"] = head.logits(first, columns);
      f(on(backend, operation("cross-entropy-chunk", pass), c, state), first, columns);
    }
  };
  each("forward", [&](Named after, std::int64_t, std::int64_t) {
    state["loss"] = after["loss"];
    state["lse"] = after["lse"];
  });
  Passed result{state, std::vector<double>(kRows * kHidden)};
  each("input-gradient", [&](Named after, std::int64_t first, std::int64_t columns) {
    head.add_dx(after["dlogits"], first, columns, result.dx);
  });
  return result;
}

}  // namespace

TEST_CASE("equal logits cost the logarithm of the vocabulary", "[kernels]") {
  const Case c{DType::F32, {{"rows", 2}, {"vocab", 1000}}};
  Named inputs{{"logits", std::vector<double>(2000, -3.5)}, {"targets", {0, 999}}};
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Named after = on(*backend, operation("cross-entropy", "forward"), c, inputs);
    for (const double loss : after.at("loss")) CHECK(loss == Approx(std::log(1000.0)));
    for (const double lse : after.at("lse")) CHECK(lse == Approx(std::log(1000.0) - 3.5));
  }
}

TEST_CASE("masked logits of minus infinity count as nothing", "[kernels]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Case c{DType::F32, {{"rows", 1}, {"vocab", 4}}};
  const Named inputs{{"logits", {-kInfinity, 1, 1, -kInfinity}}, {"targets", {2}}};
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Named after = on(*backend, operation("cross-entropy", "forward"), c, inputs);
    CHECK(after.at("loss")[0] == Approx(std::log(2.0)));
  }
}

TEST_CASE("a row's gradient adds up to nothing", "[kernels]") {
  const Case c{DType::F32, {{"rows", kRows}, {"vocab", kVocab}}};
  Named inputs = random_inputs(operation("cross-entropy", "forward"), c, 2);
  inputs["lse"] = by_reference(operation("cross-entropy", "forward"), c, inputs)["lse"];
  inputs["dloss"] = std::vector<double>(kRows, 0.2);
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const std::vector<double> slopes =
        on(*backend, operation("cross-entropy", "input-gradient"), c, inputs)["dlogits"];
    for (std::int64_t row = 0; row < kRows; ++row)
      CHECK(std::abs(std::accumulate(slopes.begin() + row * kVocab,
                                     slopes.begin() + (row + 1) * kVocab, 0.0)) < 1e-6);
  }
}

TEST_CASE("a vocabulary in chunks gives the loss and gradient of the whole", "[kernels]") {
  const Head head = random_head();
  const Case whole{DType::F32, {{"rows", kRows}, {"vocab", kVocab}}};
  Named state{{"targets", {0, 36, 12, 13, 20}}, {"dloss", {0.2, 0.2, 0, 0.2, 1}}};
  // What a first chunk must not read.
  state["loss"] = state["lse"] = std::vector<double>(kRows, std::nan(""));

  Named wanted = state;
  wanted["logits"] = head.logits(0, kVocab);
  const Named after = by_reference(operation("cross-entropy", "forward"), whole, wanted);
  wanted["lse"] = after.at("lse");
  const std::vector<double> slopes =
      by_reference(operation("cross-entropy", "input-gradient"), whole, wanted)["dlogits"];
  std::vector<double> dx(kRows * kHidden);
  head.add_dx(slopes, 0, kVocab, dx);

  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    for (const std::int64_t chunk : {1, 8, 13, 36, 37}) {
      INFO(chunk << " columns at a time on " << backend->name);
      Passed got = in_chunks(*backend, head, chunk, state);
      for (std::size_t row = 0; row < kRows; ++row) {
        CHECK(got.state["loss"][row] == Approx(after.at("loss")[row]).margin(1e-5));
        CHECK(got.state["lse"][row] == Approx(after.at("lse")[row]).margin(1e-5));
      }
      for (std::size_t i = 0; i < dx.size(); ++i) CHECK(got.dx[i] == Approx(dx[i]).margin(1e-5));
    }
  }
}

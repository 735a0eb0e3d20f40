// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;
using tests::scenario_of;

namespace {

/// Work that scales with tokens, and a fixed cost of every rank.
double seconds_of(std::int64_t tokens, int ranks) {
  return static_cast<double>(tokens) / ranks + 10.0 * (ranks - 1);
}

/// A model on 16 ranks; `samples` of `global` a step.
std::string sixteen_ranks(const std::string& samples, int global = 32) {
  return "model: {hidden: 1024, layers: 8, heads: 16, vocab: 64, causal: false}\n"
         "cluster: {preset: dgx-h100, nodes: 2}\n"
         "parallel: {cp: 8, zero: 1, context: ulysses}\n"
         "batch: {global: " +
         std::to_string(global) + ", micro: 1, sequence: 32768" +
         (samples.empty() ? "" : ", samples: " + samples) + "}\n";
}

}  // namespace

TEST_CASE("samples placed on ranks never share one at the same time", "[samples]") {
  const std::vector<std::int64_t> tokens{4000, 100, 200, 3000, 100, 100, 900, 1600, 50, 700};
  const std::vector<PlacedSample> placed = place_samples(tokens, 16, {1, 2, 4, 8}, seconds_of);
  REQUIRE(placed.size() == tokens.size());
  const TaskGraph graph = sample_graph(placed, 16);
  const Timeline timeline = run_reference(graph);
  std::vector<double> free(16, 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const std::uint32_t lane = graph.tasks[t].lane;
    CHECK(timeline.start[t] >= free[lane]);
    free[lane] = timeline.finish[t];
    const PlacedSample& own = placed[graph.tasks[t].origin];
    CHECK(own.first % own.ranks == 0);
    // All ranks of a sample begin together.
    for (TaskId other = 0; other < graph.tasks.size(); ++other)
      if (graph.tasks[other].origin == graph.tasks[t].origin)
        CHECK(timeline.start[other] == timeline.start[t]);
  }
}

TEST_CASE("a choice of degrees is never slower than one of them, nor faster than all ranks busy",
          "[samples]") {
  const std::vector<std::int64_t> tokens{4000, 100, 200, 3000, 100, 100, 900, 1600, 50, 700};
  const auto end = [&](const std::vector<int>& degrees) {
    return run_reference(sample_graph(place_samples(tokens, 16, degrees, seconds_of), 16)).makespan;
  };
  const double chosen = end({1, 2, 4, 8});
  double work = 0, longest = 0;
  for (const std::int64_t length : tokens) {
    work += static_cast<double>(length);
    longest = std::max(longest, seconds_of(length, 8));
  }
  CHECK(chosen >= std::max(work / 16, longest));
  for (const int degree : {1, 2, 4, 8}) CHECK(chosen <= end({degree}));
}

TEST_CASE("equal samples of one degree take the time of the plain model", "[samples]") {
  const double plain = predict(scenario_of(sixteen_ranks(""))).result.step_time;
  const Result samples =
      predict(scenario_of(sixteen_ranks("{kind: fixed, lengths: [32768], degrees: [8]}"))).result;
  // The gradients of the last backward are reduced beside it in the plain model and here alike.
  CHECK(samples.step_time == Approx(plain).epsilon(1e-3));
  CHECK(samples.bubble_makespan == Approx(0).margin(1e-9));
}

TEST_CASE("short samples on fewer ranks save time, and the parts add up", "[samples]") {
  const std::string mixed = "{kind: fixed, lengths: [32768, 2048, 2048, 4096], degrees: ";
  const Result fixed = predict(scenario_of(sixteen_ranks(mixed + "[8]}"))).result;
  const Result chosen = predict(scenario_of(sixteen_ranks(mixed + "[1, 2, 4, 8]}"))).result;
  CHECK(chosen.step_time < fixed.step_time);
  for (const Result* r : {&fixed, &chosen}) {
    double sum = 0;
    for (const double part : r->breakdown) sum += part;
    CHECK(sum == Approx(r->step_time).epsilon(1e-9));
    CHECK(r->tokens_per_s * r->step_time == Approx(8.0 * (32768 + 2048 + 2048 + 4096)));
  }
  CHECK(chosen.model_flops == Approx(fixed.model_flops));
}

TEST_CASE("sampled lengths follow from the seed", "[samples]") {
  const std::string law =
      "{kind: lognormal, median: 4096, sigma: 1, degrees: [1, 2, 4, 8], steps: 5, seed: ";
  const auto time = [&](int seed) {
    return predict(scenario_of(sixteen_ranks(law + std::to_string(seed) + "}"))).result.step_time;
  };
  CHECK(time(1) == time(1));
  CHECK(time(1) != time(2));
}

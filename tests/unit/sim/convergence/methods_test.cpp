// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/convergence/codec.hpp"
#include "sim/convergence/mixing.hpp"
#include "sim/convergence/pipeline_events.hpp"
#include "tests/unit/sim/convergence/small.hpp"

using namespace paceline;
using namespace paceline::sim::convergence;
using tests::objective_of;
using tests::run_of;
using tests::training_of;

namespace {

double end_of(const Run& run) { return run.curve.back().loss; }

/// f(x) = x^2 / 2 from 1, in powers of two: sums and means of a few steps are exact in fp32.
Objective dyadic() {
  Objective f;
  add_block(f, "x", 4, 1, Role::Vector);
  f.start.assign(4, 1.0F);
  f.samples = 8;
  f.loss = [](std::span<const float> w) { return static_cast<double>(w[0]) / 2; };
  f.gradient = [](std::span<const float> w, std::span<const float>, const Batch& batch,
                  std::span<float> g) {
    for (std::size_t i = 0; i < w.size(); ++i) g[i] = static_cast<float>(batch[0]) / 8 + w[i] / 2;
    return 1.0;
  };
  return f;
}

}  // namespace

TEST_CASE("DiLoCo with one inner step and an outer step of one is data parallelism", "[sim]") {
  const Objective f = dyadic();
  const Training t = training_of(5, 0.25, 1);
  const double together = end_of(run_of(f, "{kind: synchronous, workers: 4}", t));
  CHECK(together != 0.5);
  CHECK(end_of(run_of(f, "{kind: local-sgd, workers: 4, inner: 1}", t)) == together);
  CHECK(end_of(run_of(f, "{kind: gossip, workers: 4, mixing: complete}", t)) == together);
  CHECK(end_of(run_of(f, "{kind: local-sgd, workers: 4, inner: 5}", t)) == together);  // linear
}

TEST_CASE("ways of working without delay, partners or loss are the plain one", "[sim]") {
  const Objective f = objective_of("{kind: mlp, widths: [5, 6, 3], samples: 40, noise: 0.01}");
  const Training t = training_of(20, 0.1);
  const double plain = end_of(run_of(f, "{kind: synchronous}", t, "adamw"));
  for (const char* same : {"{kind: delay, steps: 0}", "{kind: pipeline, stages: 1}",
                           "{kind: pipeline, schedule: paci, stages: 1, update_every: 1}",
                           "{kind: synchronous, exchange: {codec: fp32}}",
                           "{kind: synchronous, exchange: {codec: {kind: top-k, keep: 1}}}",
                           "{kind: synchronous, exchange: {kind: mask, keep: 1}}"}) {
    INFO(same);
    CHECK(end_of(run_of(f, same, t, "adamw")) == plain);
  }
  for (const char* other :
       {"{kind: delay}", "{kind: delay, correction: true}", "{kind: pipeline, stages: 2}",
        "{kind: pipeline, schedule: paci, stages: 2, update_every: 1}",
        "{kind: synchronous, exchange: {codec: {kind: top-k, keep: 0.1, feedback: true}}}"}) {
    INFO(other);
    CHECK(end_of(run_of(f, other, t, "adamw")) != plain);
  }
}

TEST_CASE("a delayed step follows its recurrence", "[sim]") {
  // f = x^2 / 2 with one eigenvalue: x_{t+1} = x_t - r x_{t-1}, or with the correction
  // x_{t+1} = x_t - 2 r x_{t-1} + r x_{t-2}.
  Objective f = objective_of("{kind: quadratic, size: 1}");
  f.start = {1.0F};
  double x = 1, before = 1;
  for (int k = 0; k < 6; ++k) {
    const double next = x - 0.125 * before;
    before = x;
    x = next;
  }
  CHECK(end_of(run_of(f, "{kind: delay}", training_of(6, 0.125))) == Approx(x * x / 2));
  double y = 1, y1 = 1, moved = 0;
  for (int k = 0; k < 6; ++k) {
    const double now = 0.125 * y1, next = y - 2 * now + moved;
    moved = now;
    y1 = y;
    y = next;
  }
  CHECK(end_of(run_of(f, "{kind: delay, correction: true}", training_of(6, 0.125))) ==
        Approx(y * y / 2));
}

TEST_CASE("a two-stage PipeDream reads what the schedule says", "[sim]") {
  // Stage 1's forward and backward follow each other, stage 0 is one update late.
  const PipelineEvents events = pipeline_events("pipedream", 2, 12, 1, 0);
  CHECK(events.max_delay == 1);
  CHECK(pipeline_events("pipedream", 16, 64, 1, 0).max_delay == 15);
  CHECK(pipeline_events("pipedream-2bw", 4, 64, 4, 0).max_delay == 1);
  for (const int every : {1, 2, 3, 4})
    CHECK(pipeline_events("paci", 4, 64, every, 0).max_mismatch == (3 + every - 1) / every);
  // 1F1B of S stages in T slots ends T / 2 - S + 1 microbatches.
  int ended = 0;
  for (const PipelineEvent& e : pipeline_events("pipedream", 4, 101, 1, 200).events)
    ended += e.kind == PipelineEvent::Kind::Update && e.stage == 0 ? 1 : 0;
  CHECK(ended == 97);
}

TEST_CASE("runs that diverge say at which step and keep their curve", "[sim]") {
  const Objective f = objective_of("{kind: quadratic, size: 4, condition: 1}");
  const Run run = run_of(f, "{kind: synchronous}", training_of(400, 3.0));
  REQUIRE(run.diverged);
  CHECK(*run.diverged > 1);
  CHECK(*run.diverged < 40);  // the loss grows fourfold a step and may grow a millionfold
  CHECK_FALSE(run.curve.empty());
  CHECK(run_of(f, "{kind: synchronous}", training_of(400, 1.0)).diverged == std::nullopt);
}

TEST_CASE("mixing keeps the mean and says which row is no share", "[sim]") {
  CHECK(not_doubly_stochastic(ring_mixing(5)).empty());
  CHECK(not_doubly_stochastic(pair_mixing(7, 1, 3)).empty());
  CHECK(not_doubly_stochastic({{0.5, 0.5}, {0.5, 0.4}}) == "row 1 adds up to 0.9, not 1");
  CHECK(not_doubly_stochastic({{1, 0}, {1, 0}}) == "column 0 adds up to 2, not 1");
  CHECK(not_doubly_stochastic({{1.5, -0.5}, {-0.5, 1.5}}) == "row 0 has a share of 1.5");
  const Objective f = objective_of("{kind: least-squares, samples: 16, size: 6}");
  const Run run = run_of(f, "{kind: gossip, workers: 4, mixing: ring}", training_of(300, 0.05));
  CHECK(end_of(run) < 0.01 * run.curve.front().loss);
  CHECK(run.extra.back().first == "disagreement");
  const Run lost = run_of(f, "{kind: gossip, workers: 4, lost: 1}", training_of(50, 0.05));
  CHECK(lost.extra.back().second > 0);  // nobody hears of anybody
}

TEST_CASE("what a codec loses waits in the residual", "[sim]") {
  const Block block{"w", 0, 8, 8, Role::Matrix};
  for (const models::Codec& kind : models::codecs()) {
    INFO(kind.name);
    Codec codec;
    codec.kind = &kind;
    codec.feedback = true;
    codec.settings.rank = 2;
    CodecState state;
    std::vector<float> got(64);
    for (std::size_t i = 0; i < got.size(); ++i) got[i] = std::sin(static_cast<float>(i));
    const std::vector<float> whole = got;
    const std::int64_t bytes = transfer(codec, {&block, 1}, state, 1, got);
    CHECK(bytes > 0);
    CHECK(bytes <= 256);
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(got[i] + state.residual[i] == Approx(whole[i]).margin(1e-6));
  }
}

TEST_CASE("low rank gives back matrices of that rank, top-k its largest entries", "[sim]") {
  const Block block{"w", 0, 6, 5, Role::Matrix};
  std::vector<float> outer(30);
  for (std::size_t i = 0; i < 30; ++i)
    outer[i] = static_cast<float>(i / 5 + 1) * static_cast<float>(i % 5 + 2);
  const auto codec_named = [](const char* name) {
    Codec codec;
    codec.kind = &models::codec_named(name, "");
    codec.settings.values = models::Precision::Fp32;
    return codec;
  };
  Codec low = codec_named("power-sgd");
  low.settings.rank = 1;
  CodecState state;
  std::vector<float> got = outer;
  CHECK(transfer(low, {&block, 1}, state, 1, got) == 44);
  for (std::size_t i = 0; i < 30; ++i) CHECK(got[i] == Approx(outer[i]).epsilon(1e-5));
  Codec top = codec_named("top-k");
  top.settings.keep = 0.1;
  CodecState other;
  got = outer;
  transfer(top, {&block, 1}, other, 1, got);
  CHECK(got[29] == outer[29]);
  CHECK(std::count(got.begin(), got.end(), 0.0F) == 27);
}

TEST_CASE("streaming fragments and lost rounds still train", "[sim]") {
  const Objective f = objective_of("{kind: mlp, widths: [8, 12, 12, 4], samples: 256}");
  Training t = training_of(60, 0.1, 8);
  const double start = f.loss(f.start);
  for (const char* method :
       {"{kind: local-sgd, workers: 3, inner: 6, fragments: 3, late: 1}",
        "{kind: local-sgd, workers: 3, inner: 6, outer_rate: 0.7, outer_momentum: 0.5}",
        "{kind: local-sgd, workers: 3, inner: 6, lost: 0.5}",
        "{kind: local-sgd, workers: 3, inner: 6, codec: {kind: nvfp4, feedback: true}}",
        "{kind: local-sgd, workers: 3, inner: 6, aggregate: iso, outer_rate: 0.5}",
        "{kind: synchronous, workers: 3, sorted: true}",
        "{kind: gossip, workers: 3, every: 6, late: 2, mixing: pairs}"}) {
    INFO(method);
    const Run run = run_of(f, method, t);
    CHECK(end_of(run) < 0.95 * start);
    CHECK(run.exchanges > 0);
  }
}

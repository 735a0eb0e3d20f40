// SPDX-License-Identifier: Apache-2.0
#include "sim/jitter.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// One lane with tasks of 2 s: `count` actions on compute, then as many messages.
TaskGraph lane_of(int count) {
  TaskGraph graph;
  graph.lanes.resize(1);
  for (int i = 0; i < 2 * count; ++i) {
    Task task;
    task.seconds = 2;
    task.stream = i < count ? Stream::Compute : Stream::PpDown;
    task.kind = i < count ? TaskKind::Action : TaskKind::Message;
    graph.add(task);
  }
  return graph;
}

std::vector<double> factors_of(const models::Jitter& jitter, int count, int repetition,
                               double straggler = 1) {
  const UnfoldedGraph unfolded = unfold_replicas(lane_of(count), 1);
  const JitterDraws draws(unfolded, jitter, std::vector<double>{straggler});
  TaskGraph graph = unfolded.graph;
  draws.apply(repetition, graph);
  std::vector<double> factors;
  for (const Task& task : graph.tasks) factors.push_back(task.seconds / 2);
  return factors;
}

models::Scenario scenario_with(const std::string& jitter, const std::string& more = "") {
  return ::tests::small_gpt("parallel: {tp: 1, pp: 2, dp: 4, zero: 1}\njitter: " + jitter + more);
}

std::vector<double> times_of(const models::Scenario& s, int threads) {
  const Prediction p = predict(s, {.threads = threads});
  return jittered_step_times(s, p.plan, p.graph, engine_options(s), {}, threads);
}

}  // namespace

TEST_CASE("lognormal times keep their mean and have the percentiles of the law", "[sim][jitter]") {
  models::Jitter jitter;
  jitter.compute.sigma = 0.3;
  constexpr int kTasks = 40'000;
  std::vector<double> factors = factors_of(jitter, kTasks, 7);
  for (int i = kTasks; i < 2 * kTasks; ++i) CHECK(factors[static_cast<std::size_t>(i)] == 1);
  factors.resize(kTasks);
  double sum = 0;
  for (const double f : factors) sum += f;
  CHECK(sum / kTasks == Approx(1).margin(0.005));
  std::sort(factors.begin(), factors.end());
  const auto at = [&](double q) { return factors[static_cast<std::size_t>(q * kTasks)]; };
  const double median = std::exp(-0.3 * 0.3 / 2);
  CHECK(at(0.5) == Approx(median).epsilon(0.01));
  CHECK(at(0.95) == Approx(median * std::exp(0.3 * 1.644854)).epsilon(0.015));
  CHECK(at(0.99) == Approx(median * std::exp(0.3 * 2.326348)).epsilon(0.02));
}

TEST_CASE("a heavy tail hits as often as it says and raises the mean as it says", "[sim][jitter]") {
  models::Jitter jitter;
  jitter.links = {0, 0.05, 2, 4, {}};
  constexpr int kTasks = 40'000;
  const std::vector<double> factors = factors_of(jitter, kTasks, 0);
  double sum = 0;
  int slow = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (i < kTasks) {
      CHECK(factors[i] == 1);
      continue;
    }
    sum += factors[i];
    slow += factors[i] > 1 ? 1 : 0;
    CHECK((factors[i] == 1 || factors[i] >= 2));
  }
  CHECK(slow / double{kTasks} == Approx(0.05).margin(0.004));
  CHECK(sum / kTasks == Approx(1 + 0.05 * (2 * 4.0 / 3 - 1)).margin(0.01));
}

TEST_CASE("a trace is taken in its order from a random place, over and over", "[sim][jitter]") {
  models::Jitter jitter;
  jitter.compute.trace = {1, 2, 3, 4, 5};
  std::vector<int> begins(6, 0);
  for (int r = 0; r < 100; ++r) {
    const std::vector<double> factors = factors_of(jitter, 12, r);
    ++begins[static_cast<std::size_t>(factors[0])];
    for (std::size_t i = 1; i < 12; ++i)
      CHECK(factors[i] == (factors[i - 1] == 5 ? 1 : factors[i - 1] + 1));
  }
  for (std::size_t f = 1; f <= 5; ++f) CHECK(begins[f] > 5);
}

TEST_CASE("a straggler slows compute only, every time", "[sim][jitter]") {
  const models::Jitter none;
  const std::vector<double> factors = factors_of(none, 3, 5, 1.5);
  CHECK(factors == std::vector<double>{1.5, 1.5, 1.5, 1, 1, 1});
}

TEST_CASE("repetitions differ, and each is the same on every number of threads", "[sim][jitter]") {
  const models::Scenario s = scenario_with(
      "{compute: {sigma: 0.2}, links: {sigma: 0.3, tail: {probability: 0.1, factor: 3}}, "
      "seed: 9, repetitions: 40}");
  const std::vector<double> times = times_of(s, 1);
  CHECK(times_of(s, 2) == times);
  CHECK(times_of(s, 7) == times);
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::unique(sorted.begin(), sorted.end()) == sorted.end());
  CHECK(times_of(scenario_with("{compute: {sigma: 0.2}, links: {sigma: 0.3, tail: {probability: "
                               "0.1, factor: 3}}, seed: 10, repetitions: 40}"),
                 2) != times);
}

TEST_CASE("without jitter replicas one by one take the time of one that stands for all",
          "[sim][jitter]") {
  for (const char* zero : {"0", "1", "2", "3"}) {
    for (const char* stack : {"generic", "nemo-25.02"}) {
      const models::Scenario s = ::tests::small_gpt(
          std::string("parallel: {tp: 1, pp: 2, dp: 4, zero: ") + zero + "}\nstack: " + stack +
          "\njitter: {compute: {sigma: 0}, repetitions: 3}");
      const Prediction p = predict(s);
      REQUIRE(p.result.distribution.has_value());
      CHECK(p.result.distribution->mean.value == Approx(p.result.step_time).epsilon(1e-12));
      CHECK(p.result.distribution->p99.value == Approx(p.result.step_time).epsilon(1e-12));
    }
  }
}

TEST_CASE("where the pipeline never flushes, a step is the steady period", "[sim][jitter]") {
  const Prediction p =
      predict(::tests::small_gpt("parallel: {tp: 1, pp: 4, dp: 2}\nschedule: pipedream\n"
                                 "jitter: {compute: {sigma: 0}, repetitions: 2}"));
  CHECK(p.result.step_time < 0.9 * p.timeline.makespan);
  CHECK(p.result.distribution->mean.value == Approx(p.result.step_time).epsilon(1e-9));
}

TEST_CASE("one slow rank of one replica slows the whole step", "[sim][jitter]") {
  const Prediction base = predict(scenario_with("{repetitions: 1}"));
  double slowest = 0;
  for (const char* rank : {"0", "5", "7"}) {
    const Prediction p = predict(scenario_with(std::string("{stragglers: [{rank: ") + rank +
                                               ", factor: 1.5}], repetitions: 5}"));
    const double time = p.result.distribution->mean.value;
    CHECK(time > 1.1 * base.result.step_time);
    CHECK(time < 1.5 * base.result.step_time + 1e-9);
    CHECK(p.result.step_time == base.result.step_time);
    slowest = std::max(slowest, time);
  }
  CHECK(slowest > 0);
}

TEST_CASE("percentiles and their confidence come from the order of the sample", "[sim][jitter]") {
  std::vector<double> times;
  for (int i = 100; i >= 1; --i) times.push_back(i);
  const StepDistribution d = distribution_of(times, 3);
  CHECK(d.repetitions == 100);
  CHECK(d.seed == 3);
  CHECK(d.mean.value == Approx(50.5));
  CHECK(*d.mean.high - d.mean.value == Approx(1.959964 * 29.011492 / 10));
  CHECK(d.p50.value == 50);
  CHECK(*d.p50.low == 40);  // tables of the sign test: the 40th and 61st of 100
  CHECK(*d.p50.high == 61);
  CHECK(d.p95.value == 95);
  CHECK(*d.p95.low == 90);
  CHECK(*d.p95.high == 100);
  CHECK(d.p99.value == 99);
  CHECK(d.p99.low.has_value());
  CHECK_FALSE(d.p99.high.has_value());  // 0.99^100 = 0.37: the true one may lie beyond all
}

TEST_CASE("a sample of one has no confidence", "[sim][jitter]") {
  const StepDistribution d = distribution_of(std::vector<double>{2}, 0);
  CHECK(d.mean.value == 2);
  CHECK_FALSE(d.mean.low.has_value());
  CHECK(d.p99.value == 2);
  CHECK_FALSE(d.p50.low.has_value());
  CHECK_FALSE(d.p99.high.has_value());
}

TEST_CASE("confidence intervals hold the truth as often as they say", "[sim][jitter]") {
  base::Rng rng(4);
  int mean = 0, p50 = 0, p95 = 0;
  constexpr int kSamples = 1000;
  for (int i = 0; i < kSamples; ++i) {
    std::vector<double> times;
    for (int k = 0; k < 200; ++k) times.push_back(rng.uniform());
    const StepDistribution d = distribution_of(times, 0);
    mean += *d.mean.low <= 0.5 && 0.5 <= *d.mean.high ? 1 : 0;
    p50 += *d.p50.low <= 0.5 && 0.5 <= *d.p50.high ? 1 : 0;
    p95 += *d.p95.low <= 0.95 && 0.95 <= *d.p95.high ? 1 : 0;
  }
  CHECK(mean > 0.93 * kSamples);
  CHECK(mean < 0.97 * kSamples);
  CHECK(p50 > 0.935 * kSamples);
  CHECK(p95 > 0.935 * kSamples);
}

TEST_CASE("the engine of shared links refuses jitter in one line", "[sim][jitter]") {
  try {
    predict(scenario_with("{compute: {sigma: 0.1}}"), {.engine = Engine::Simgrid});
    FAIL("not refused");
  } catch (const base::Error& error) {
    const std::string text = error.what();
    CHECK(text.find("jitter: only the reference engine") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("ready dispatch of a scenario: same work, the order the links allow", "[sim][ready]") {
  const std::string layout = "parallel: {tp: 2, pp: 4, dp: 1}\nstack: nemo-25.02\n";
  const Prediction fixed = predict(::tests::small_gpt(layout));
  const Prediction ready = predict(
      ::tests::small_gpt(layout + "schedule: {name: 1f1b, dispatch: {policy: ready, buffers: 2}}"));
  CHECK(ready.result.step_time <= fixed.result.step_time * (1 + 1e-9));
  CHECK(ready.result.step_time > 0.9 * fixed.result.step_time);
  double sum = 0;
  for (const double part : ready.result.breakdown) sum += part;
  CHECK(sum == Approx(ready.result.step_time));
  const Prediction slow = predict(::tests::small_gpt(
      layout + "schedule: {name: 1f1b, dispatch: {policy: ready, coordination: 1 ms}}"));
  const double actions = 2.0 * slow.plan.microbatches;
  CHECK(slow.result.step_time > ready.result.step_time + 0.9 * actions * 1e-3);
  CHECK(slow.result.breakdown[static_cast<std::size_t>(Part::Host)] >
        ready.result.breakdown[static_cast<std::size_t>(Part::Host)]);
}

TEST_CASE("ready dispatch ends for every schedule, layout and overlap", "[sim][ready]") {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved-1f1b, chunks: 2", "breadth-first"}) {
    for (const char* rest : {"dp: 1", "dp: 2, zero: 0", "dp: 2, zero: 1", "dp: 2, zero: 2"}) {
      for (const char* stack : {"generic", "nemo-25.02", "megatron-2020"}) {
        CAPTURE(schedule, rest, stack);
        const models::Scenario s = ::tests::small_gpt(
            std::string("parallel: {tp: 1, pp: 4, ") + rest + "}\nstack: " + stack +
            "\nschedule: {name: " + schedule + ", dispatch: {policy: ready, buffers: 1}}\n" +
            "jitter: {compute: {sigma: 0.5}, links: {sigma: 0.5}, repetitions: 5}");
        const Prediction p = predict(s);
        CHECK(p.result.step_time > 0);
        CHECK(p.result.distribution->mean.value > 0);
        CHECK(p.result.memory.size() == 4);
      }
    }
  }
}

TEST_CASE("ready dispatch is the same on both engines where no link is shared", "[sim][ready]") {
  if (!simgrid_available()) return;
  for (const char* layout : {"pp: 8, dp: 1", "pp: 4, dp: 2, zero: 1", "pp: 2, tp: 2, dp: 2"}) {
    const models::Scenario s = ::tests::small_gpt(std::string("parallel: {") + layout +
                                                  "}\nschedule: {name: 1f1b, dispatch: {policy: " +
                                                  "ready, buffers: 1, coordination: 20 us}}");
    const Prediction reference = predict(s);
    const Prediction simgrid =
        predict(s, {.engine = Engine::Simgrid, .fidelity = Fidelity::AlphaBeta});
    CHECK(simgrid.timeline.finish == reference.timeline.finish);
    const Prediction shared = predict(s, {.engine = Engine::Simgrid});
    CHECK(shared.result.step_time > 0);
  }
}

TEST_CASE("ready dispatch refuses parameters that are gathered for every action", "[sim][ready]") {
  const models::Scenario s = ::tests::small_gpt(
      "parallel: {pp: 2, dp: 4, zero: 3}\nschedule: {name: 1f1b, dispatch: ready}");
  CHECK_THROWS_WITH(predict(s), Catch::Contains("zero: 3"));
}

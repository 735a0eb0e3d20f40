// SPDX-License-Identifier: Apache-2.0
#include "reports/search.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "models/scenario/set_values.hpp"
#include "sim/lower/pass_cost.hpp"
#include "sim/predict.hpp"
#include "sim/search/search.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using Catch::Matchers::Contains;

namespace {

/// The shortest longest stage by trying every cut.
double best_cut(const std::vector<double>& layer, double first, double last, int stages) {
  double best = 1e300;
  const int n = static_cast<int>(layer.size());
  const std::function<void(int, int, double)> cut = [&](int begin, int stage, double longest) {
    if (longest >= best) return;
    if (stage == stages) {
      if (begin == n) best = longest;
      return;
    }
    double sum = stage == 0 ? first : 0;
    if (stage == stages - 1) sum += last;
    for (int end = begin + 1; end <= n; ++end) {
      sum += layer[static_cast<std::size_t>(end - 1)];
      cut(end, stage + 1, std::max(longest, sum));
    }
  };
  cut(0, 0, 0);
  return best;
}

sim::LayerCosts costs_of(const std::vector<double>& kinds, double first, double last) {
  sim::LayerCosts costs;
  for (const double seconds : kinds) {
    const sim::PassSeconds pass{seconds / 3, 2 * seconds / 3, 0, 0};
    costs.layer.push_back({pass, pass});
  }
  costs.embedding.forward = first;
  costs.head.forward = last;
  return costs;
}

}  // namespace

TEST_CASE("A balanced cut has the shortest longest stage", "[search]") {
  models::Model model;
  model.layers = {0, 0, 1, 0, 1, 1, 0, 0, 1, 0};
  const std::vector<double> kinds{1.0, 2.5};
  const double head = GENERATE(0.0, 0.7, 4.0, 9.0);
  const sim::LayerCosts costs = costs_of(kinds, 0.3, head);
  for (int stages = 1; stages <= 10; ++stages) {
    const std::vector<int> cut = sim::balanced_layers(costs, model, stages);
    REQUIRE(static_cast<int>(cut.size()) == stages);
    CHECK(std::accumulate(cut.begin(), cut.end(), 0) == 10);
    CHECK(*std::min_element(cut.begin(), cut.end()) >= 1);
    std::vector<double> layer;
    for (const auto kind : model.layers) layer.push_back(kinds[static_cast<std::size_t>(kind)]);
    double longest = 0;
    std::size_t at = 0;
    for (int k = 0; k < stages; ++k) {
      double sum = (k == 0 ? 0.3 : 0) + (k == stages - 1 ? head : 0);
      for (int i = 0; i < cut[static_cast<std::size_t>(k)]; ++i) sum += layer[at++];
      longest = std::max(longest, sum);
    }
    CHECK(longest == Approx(best_cut(layer, 0.3, head, stages)));
  }
}

TEST_CASE("A layout of a search is the scenario its --set words make", "[search]") {
  const std::string text =
      "model: {hidden: 2048, layers: 16, heads: 16, ffn: 8192, vocab: 128000}\n"
      "cluster: {preset: dgx-a100, nodes: 1}\nbatch: {global: 32, micro: 1, sequence: 2048}\n"
      "parallel: {tp: 2, zero: 1, stage_layers: [16]}\n"
      "recompute: blockwise\nrecompute_layers: 2\nrun: {tokens: 1e9}\n"
      "prices: {device_hour: 2 USD/h}\n";
  const models::Scenario base = tests::scenario_of(text);
  sim::SearchOptions options;
  options.objective = GENERATE(sim::Objective::Time, sim::Objective::Cost, sim::Objective::Energy);
  options.limits.memory_bytes = GENERATE(0.0, 9e9);
  options.threads = 1;
  sim::SearchSpace space = sim::search_space(base, false);
  for (const char* vary : {"devices=4,8", "micro=1,2", "optimizer=gpu,cpu", "chunks=2,4",
                           "offload=0,0.5", "zero=0,1", "tp=1,2"})
    sim::vary(space, base, vary);
  const sim::SearchAnswer answer = sim::search(base, space, options);
  REQUIRE(!answer.best.empty());
  for (const sim::Candidate& c : answer.best) {
    models::Scenario laid = base;
    sim::apply(c.layout, laid);
    laid.parallel.stage_layers = c.stage_layers;
    base::Document document = base::parse_yaml(text, "test.yaml");
    models::set_values(document, sim::settings(c.layout, laid, base));
    sim::PredictOptions predict;
    predict.energy = true;
    const sim::Result result = sim::predict(models::read_scenario(document), predict).result;
    CHECK(result.step_time == c.result.step_time);
    CHECK(result.memory.front().peak_bytes == c.result.memory.front().peak_bytes);
    CHECK(result.energy->step.middle > 0);
  }
}

TEST_CASE("A search says which limit leaves nothing", "[search]") {
  const models::Scenario base = tests::small_gpt("run: {tokens: 1e12}");
  sim::SearchSpace space = sim::search_space(base, false);
  for (const char* vary : {"micro=1,2", "zero=0,1", "recompute=none,full"})
    sim::vary(space, base, vary);
  sim::SearchOptions options;
  options.limits.run_seconds = 10;
  const sim::SearchAnswer late = sim::search(base, space, options);
  CHECK(late.best.empty());
  REQUIRE(late.nearest);
  CHECK(late.nearest->result.run_seconds > 10);
  options.limits = {};
  options.limits.memory_bytes = 1e8;
  const sim::SearchAnswer small = sim::search(base, space, options);
  CHECK(small.best.empty());
  REQUIRE(!small.with_more_memory.empty());
  options.limits = {};
  options.evaluations = 1;
  options.objective = sim::Objective::Energy;
  const sim::SearchAnswer cut = sim::search(base, space, options);
  CHECK(!cut.proven);
  const auto report =
      reports::make_search_report(base, {}, options, cut, "paceline plan test.yaml");
  CHECK_THAT(reports::search_text(report, {}), Contains("not proven"));
  CHECK_THAT(reports::search_json(report), Contains("\"proven\": false"));
}

TEST_CASE("A search that is stopped has what it found, and a bound on what is left", "[search]") {
  const models::Scenario base = tests::small_gpt();
  sim::SearchSpace space = sim::search_space(base, true);  // two passes
  for (const char* vary : {"micro=1,2", "zero=0,1", "recompute=none,full", "offload=0"})
    sim::vary(space, base, vary);
  sim::SearchOptions options;
  options.threads = 1;
  const sim::SearchAnswer whole = sim::search(base, space, options);
  REQUIRE(whole.proven);
  CHECK(!whole.stopped);
  CHECK(!whole.least_left);
  const int last_pass = GENERATE(1, 2);
  std::atomic<bool> stop{false};
  options.stop = &stop;
  options.progress = [&](const sim::SearchProgress& at) {
    CHECK(at.passes == 2);
    CHECK(at.done <= at.points);
    if (at.pass == last_pass && at.best) stop = true;
  };
  const sim::SearchAnswer part = sim::search(base, space, options);
  CHECK(part.stopped);
  REQUIRE(!part.best.empty());
  const double best = part.best.front().value;
  CHECK(best >= whole.best.front().value);
  CHECK(part.counts.left > 0);
  CHECK(part.counts.evaluated < whole.counts.evaluated);
  const sim::SearchCounts& c = part.counts;
  CHECK(c.invalid + c.memory + c.bound + c.evaluated + c.left == Approx(c.points));
  if (!part.proven) {
    REQUIRE(part.least_left);
    CHECK(*part.least_left <= whole.best.front().value);
    CHECK(part.gap == Approx(1 - *part.least_left / best));
  } else {
    CHECK(best == whole.best.front().value);
  }
  const auto report =
      reports::make_search_report(base, {}, options, part, "paceline plan test.yaml");
  CHECK_THAT(reports::search_text(report, {}), Contains("not looked at: interrupted"));
  CHECK_THAT(reports::search_json(report), Contains("\"interrupted\": true"));
}

TEST_CASE("A search stopped at once finds nothing and says so", "[search]") {
  const models::Scenario base = tests::small_gpt();
  const sim::SearchSpace space = sim::search_space(base, false);
  const std::atomic<bool> stop{true};
  sim::SearchOptions options;
  options.stop = &stop;
  const sim::SearchAnswer none = sim::search(base, space, options);
  CHECK(none.best.empty());
  CHECK(!none.proven);
  CHECK(none.counts.left == none.counts.points);
  const auto report =
      reports::make_search_report(base, {}, options, none, "paceline plan test.yaml");
  CHECK_THAT(reports::search_text(report, {}), Contains("nothing found yet"));
}

TEST_CASE("A search lists the best of what it ran", "[search]") {
  const models::Scenario base = tests::small_gpt();
  sim::SearchSpace space = sim::search_space(base, false);
  for (const char* vary : {"micro=1,2", "zero=0,1", "recompute=none,full"})
    sim::vary(space, base, vary);
  sim::SearchOptions options;
  options.threads = 1;
  CHECK(sim::search(base, space, options).tried.empty());
  options.tried = 1000;
  const sim::SearchAnswer all = sim::search(base, space, options);
  CHECK(static_cast<double>(all.tried.size()) == all.counts.evaluated);
  options.tried = 3;
  const sim::SearchAnswer few = sim::search(base, space, options);
  REQUIRE(few.tried.size() == 3);
  for (std::size_t i = 0; i < few.tried.size(); ++i) {
    CHECK(few.tried[i].value == all.tried[i].value);
    CHECK(few.tried[i].bytes == all.tried[i].bytes);
  }
  CHECK(few.tried.front().value == few.best.front().value);
  CHECK(few.tried.front().verdict == sim::Verdict::Fits);
}

TEST_CASE("What a search cannot do is one line", "[search]") {
  const models::Scenario base = tests::small_gpt();
  sim::SearchSpace space = sim::search_space(base, false);
  CHECK_THROWS_WITH(sim::vary(space, base, "pp"), Contains("for example pp=1,2,4"));
  CHECK_THROWS_WITH(sim::vary(space, base, "pp=0"), Contains("1 to"));
  CHECK_THROWS_WITH(sim::vary(space, base, "devices=9"), Contains("1 to 8"));
  CHECK_THROWS_WITH(sim::vary(space, base, "zero=nan"), Contains("'nan'"));
  CHECK_THROWS_WITH(sim::vary(space, base, "recompute=most"), Contains("blockwise-50"));
  CHECK_THROWS_WITH(sim::vary(space, base, "schedule=1f1c"), Contains("1f1b"));
  CHECK_THROWS_WITH(sim::vary(space, base, "order=tp-pp"), Contains("innermost first"));
  CHECK_THROWS_WITH(sim::vary(space, base, "offload=2"), Contains("0 to 1"));
  CHECK_THROWS_WITH(sim::vary(space, base, "speed=2"), Contains("one of devices, tp"));
  CHECK_THROWS_WITH(
      sim::search(tests::small_gpt("costs: {forward: 1 ms, input_gradient: 1 ms}"), space, {}),
      Contains("given stage times"));
  sim::vary(space, base, "tp=3");
  CHECK_THROWS_WITH(sim::search(base, space, {}), Contains("no layout of the space divides"));
  sim::SearchOptions options;
  options.objective = sim::Objective::Cost;
  CHECK_THROWS_WITH(sim::search(base, space, options), Contains("the cost needs prices"));
  options = {};
  options.limits.run_seconds = 1;
  CHECK_THROWS_WITH(sim::search(base, space, options), Contains("run.tokens"));
}

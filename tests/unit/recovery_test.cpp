// SPDX-License-Identifier: Apache-2.0
#include "sim/recovery/recovery.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "sim/degraded.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;

namespace {

/// A node is a stage of a replica, nodes 0 to dp - 1 the first stage.
models::Scenario tp_8(const std::string& policy, int pp, int dp, int sequences,
                      const std::string& tokens = "1e10", const std::string& mtbf = "5000 h") {
  return tests::small_gpt("cluster: {preset: dgx-a100, nodes: " + std::to_string(pp * dp) +
                          "}\nparallel: {tp: 8, pp: " + std::to_string(pp) + ", dp: " +
                          std::to_string(dp) + "}\nbatch: {global: " + std::to_string(sequences) +
                          "}\nrun: {tokens: " + tokens + "}\nfailures: {node_mtbf: " + mtbf +
                          ", repair: 4 h, detect: 10 s, restart: 5 min, recovery: " + policy +
                          ", checkpoints: {mode: memory}}\n");
}
/// dp 4 x pp 2 x tp 8, 8 microbatches.
models::Scenario eight_nodes(const std::string& policy) { return tp_8(policy, 2, 4, 64); }

double pace_without(const models::Scenario& s, const std::vector<int>& nodes) {
  const sim::Prediction p = sim::predict(s);
  return sim::DegradedSteps(s, p.plan, p.result).without(nodes).pace;
}

double worst_stage(const std::vector<int>& layers, const std::vector<double>& load,
                   const std::vector<double>& ends) {
  double worst = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    worst = std::max(worst, (layers[i] + ends[i]) * load[i]);
  return worst;
}

/// By trying all.
double best_of_all(int layers, const std::vector<double>& load, const std::vector<double>& ends,
                   std::vector<int>& chosen) {
  if (chosen.size() + 1 == load.size()) {
    chosen.push_back(layers);
    const double worst = layers > 0 ? worst_stage(chosen, load, ends) : 1e300;
    chosen.pop_back();
    return worst;
  }
  double best = 1e300;
  for (int own = 1; own < layers; ++own) {
    chosen.push_back(own);
    best = std::min(best, best_of_all(layers - own, load, ends, chosen));
    chosen.pop_back();
  }
  return best;
}

}  // namespace

TEST_CASE("Nodes that are lost are cells of the layout", "[failures]") {
  const models::Scenario s = eight_nodes("elastic");
  const models::Plan plan = models::make_plan(s);
  CHECK(sim::lost_with(s, plan, {1}) == sim::Lost{1, {1, 0}});
  CHECK(sim::lost_with(s, plan, {0, 1}) == sim::Lost{2, {2, 0}});
  CHECK(sim::lost_with(s, plan, {0, 4}) == sim::Lost{1, {1, 1}});
  CHECK(sim::lost_with(s, plan, {}) == sim::Lost{0, {0, 0}});
}

TEST_CASE("Dropping a replica is the step of the others", "[failures]") {
  const models::Scenario s = eight_nodes("drop-replica");
  const double step = sim::predict(s).result.step_time;
  const models::Scenario three = tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: 8}\nparallel: {tp: 8, pp: 2, dp: 3}\n"
      "batch: {global: 48}\n");
  const double fewer = sim::predict(three).result.step_time;
  CHECK(pace_without(s, {2}) == Approx(0.75 * step / fewer));
  CHECK(pace_without(s, {2, 6}) == pace_without(s, {2}));  // one replica
  CHECK(pace_without(s, {0, 1, 2, 3}) == 0);
}

TEST_CASE("ReCycle hides a lost replica in the bubbles while they last", "[failures]") {
  // 8 microbatches in 2 stages: of 4 replicas, 3 take 11 each.
  const double one = pace_without(eight_nodes("recycle"), {0});
  CHECK(one > pace_without(eight_nodes("drop-replica"), {0}));
  CHECK(one <= 1);
  CHECK(pace_without(eight_nodes("recycle"), {0, 1}) < one);
  CHECK(pace_without(eight_nodes("recycle"), {0, 4}) == one);  // another stage
  // 2 microbatches of a pipeline of 4: idle time for two more is there.
  CHECK(pace_without(tp_8("recycle", 4, 4, 16), {0}) > one);
}

TEST_CASE("Layers go to the stages that lost less, as well as it can be done", "[failures]") {
  for (const std::vector<double>& load :
       {std::vector<double>{1, 1, 1}, {1.5, 1, 1}, {1, 2, 1.2}, {3, 1, 1}}) {
    for (const std::vector<double>& ends :
         {std::vector<double>{0, 0, 0}, {0.4, 0, 1.5}, {0, 0, 3}}) {
      for (int layers = 3; layers <= 12; ++layers) {
        const std::vector<int> found = sim::balanced_layers(layers, load, ends);
        std::vector<int> chosen;
        CHECK(std::accumulate(found.begin(), found.end(), 0) == layers);
        CHECK(worst_stage(found, load, ends) == Approx(best_of_all(layers, load, ends, chosen)));
      }
    }
  }
  CHECK(sim::most_moved({4, 4}, {4, 4}) == 0);
  CHECK(sim::most_moved({4, 4}, {3, 5}) == 1);
  CHECK(sim::most_moved({4, 4, 4}, {2, 5, 5}) == 2);  // the second gets two, and gives one on
}

TEST_CASE("Elastic recovery is as fast as moving layers makes it, and needs time to move",
          "[failures]") {
  const models::Scenario s = eight_nodes("elastic");
  const sim::Prediction p = sim::predict(s);
  sim::DegradedSteps steps(s, p.plan, p.result);
  const sim::Degraded one = steps.without({0});
  CHECK(one.pace > pace_without(eight_nodes("drop-replica"), {0}));
  CHECK(one.pace < 1);
  CHECK(one.regroup > models::kEdit);
  CHECK(steps.without({5}).pace == one.pace);
  CHECK(steps.predicted() == 1);  // the same loss is predicted once
  CHECK(steps.without({0, 1, 2, 3}).pace == 0);
  REQUIRE(p.result.outlook->one_lost);
  CHECK(p.result.outlook->one_lost->pace == Approx(one.pace));
}

TEST_CASE("A slow node sets the pace of all", "[failures]") {
  const models::Scenario s = eight_nodes("restart");
  const sim::Prediction p = sim::predict(s);
  sim::DegradedSteps steps(s, p.plan, p.result);
  CHECK(steps.with_slow_node(1, 8) == 1);
  const double slow = steps.with_slow_node(1.5, 8);
  CHECK(slow < 1);
  CHECK(slow > 1 / 1.5);  // not all of a step is this stage's
  CHECK(steps.with_slow_node(3, 8) < slow);
}

TEST_CASE("The policies in one run: the better they are, the more of it is work", "[failures]") {
  const auto goodput = [](const std::string& policy) {
    return sim::predict(tp_8(policy, 2, 4, 64, "2e12", "800 h")).result.outlook->goodput.value;
  };
  const double waits = goodput("restart"), spares = goodput("{policy: spares, spares: 2}");
  const double drops = goodput("drop-replica"), moves = goodput("elastic");
  CHECK(waits < drops);
  CHECK(drops < moves);
  CHECK(waits < spares);
}

TEST_CASE("An answer says what its recovery and its copies take for granted", "[failures]") {
  const auto says = [](const models::Scenario& s, const std::string& part) {
    const std::vector<std::string> lines = sim::predict(s).result.assumptions;
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  };
  CHECK(says(eight_nodes("elastic"), "layers are cut anew"));
  CHECK_FALSE(says(eight_nodes("recycle"), "layers are cut anew"));
  CHECK(says(eight_nodes("restart"), "in the memory of another node"));
  models::Scenario sharded = eight_nodes("drop-replica");
  sharded.parallel.zero = 1;
  sharded.parallel.shard = 2;
  CHECK(says(sharded, "2 replicas share one set of shards"));
  CHECK_FALSE(says(eight_nodes("drop-replica"), "share one set of shards"));
}

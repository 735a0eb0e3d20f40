// SPDX-License-Identifier: Apache-2.0
// The graph an engine needs that does the work: every kernel and exchange a task.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "base/config.hpp"
#include "models/workload/layer_ops.hpp"
#include "sim/predict.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

models::Scenario scenario(const std::string& parallel, const std::string& schedule = "1f1b") {
  return models::read_scenario(base::parse_yaml(
      "model: {hidden: 1024, layers: 8, heads: 16, ffn: 4096, vocab: 32000}\n"
      "cluster: {preset: dgx-a100, nodes: 1}\n"
      // The rule for kernels beside communication looks at kernels here, at whole layers there.
      "stack: {name: generic, numbers: {overlap_slowdown: {value: 1, source: test}}}\n"
      "parallel: {" +
          parallel +
          "}\nbatch: {global: 16, micro: 1, sequence: 512}\nschedule: {name: " + schedule + "}\n",
      "kernels.yaml"));
}

double flops(const TaskGraph& graph) {
  double sum = 0;
  for (const Task& task : graph.tasks) {
    if (task.segment >= graph.kernels.size() || graph.kernels[task.segment] == nullptr) continue;
    sum += models::matrix_flops({*graph.kernels[task.segment]});
  }
  return sum;
}

}  // namespace

TEST_CASE("kernels one by one take the time of whole passes", "[sim]") {
  for (const char* parallel :
       {"pp: 4, dp: 1", "pp: 2, dp: 2", "tp: 2, pp: 2, dp: 2, sequence_parallel: true",
        "dp: 4, zero: 3", "pp: 2, cp: 2, dp: 1"}) {
    for (const char* schedule : {"1f1b", "zb-h1", "gpipe"}) {
      CAPTURE(parallel, schedule);
      const models::Scenario s = scenario(parallel, schedule);
      const Prediction whole = predict(s), pieces = predict(s, {.kernels = true});
      CHECK(pieces.graph.lanes.size() == static_cast<std::size_t>(s.parallel.world_size()));
      CHECK(pieces.result.step_time == Approx(whole.result.step_time).epsilon(1e-9));
      double expected = 0;
      for (const Task& task : whole.graph.tasks)
        expected += whole.graph.segments[task.segment].flops *
                    static_cast<double>(whole.graph.lanes[task.lane].members);
      CHECK(flops(pieces.graph) == Approx(expected).epsilon(1e-9));
    }
  }
}

TEST_CASE("who takes part in an exchange agrees on it", "[sim]") {
  const models::Scenario s = scenario("tp: 2, pp: 2, dp: 2, sequence_parallel: true");
  const Prediction p = predict(s, {.kernels = true});
  std::map<std::vector<int>, std::map<int, std::vector<double>>> collectives;
  std::size_t messages = 0;
  for (const Exchange& e : p.graph.exchanges) {
    const Task& task = p.graph.tasks[e.task];
    const int rank = p.graph.lanes[task.lane].representative;
    REQUIRE(e.ranks.size() == 2);
    if (e.op == models::CollectiveOp::SendRecv) {
      ++messages;
      CHECK(e.ranks[0] == rank);
      CHECK(e.ranks[1] != rank);
      CHECK(e.bytes == 512 * 1024 * 2 / 2);  // of a shard of the sequence
    } else {
      CHECK(std::count(e.ranks.begin(), e.ranks.end(), rank) == 1);
      collectives[e.ranks][rank].push_back(e.bytes);
    }
  }
  CHECK(messages == 2 * 8 * 4);  // both ways, 8 microbatches, 4 replicas of a pipeline
  // Pairs: 4 of tensor and 4 of data parallelism, 4 with the two ends of the tied embedding.
  CHECK(collectives.size() == 12);
  for (const auto& [ranks, of] : collectives) {
    REQUIRE(of.size() == 2);
    CHECK(of.begin()->second == of.rbegin()->second);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "reports/answer.hpp"

#include <catch2/catch.hpp>

#include "reports/result_json.hpp"
#include "tests/unit/reports/example.hpp"

using namespace paceline;
using reports::make_answer;

namespace {

reports::Answer example() {
  return make_answer(tests::example_scenario(), tests::example_prediction(),
                     "paceline run scenarios/example.yaml --engine reference");
}

}  // namespace

TEST_CASE("rank classes name their members, stages and ends", "[reports]") {
  const auto prediction = tests::example_prediction();
  CHECK(to_text(reports::describe_lane(prediction, 0)) == "ranks 0-3, stage 0 (embedding)");
  CHECK(to_text(reports::describe_lane(prediction, 1)) == "ranks 4-7, stage 1 (head)");
}

TEST_CASE("a pipeline inside the other axes gives strided members", "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.plan.meshes[0].axes = {{"tp", 2, 1}, {"pp", 2, 2}, {"dp", 2, 4}};
  prediction.graph.lanes[1].representative = 2;
  CHECK(reports::describe_lane(prediction, 0).ranks == "ranks 0-1, 4-5");
  CHECK(reports::describe_lane(prediction, 1).ranks == "ranks 2-3, 6-7");
  CHECK(reports::describe_lane(prediction, 1).pipeline_rank == 1);
}

TEST_CASE("without a pipeline one class holds all ranks", "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.plan.meshes[0].axes = {{"tp", 2, 1}, {"dp", 4, 2}};
  prediction.plan.stages = {{0, 8, true, true, 0}};
  prediction.graph.lanes[0].members = 8;
  CHECK(to_text(reports::describe_lane(prediction, 0)) ==
        "ranks 0-7, stage 0 (embedding and head)");
}

TEST_CASE("the reproducing command quotes what a shell would read differently", "[reports]") {
  CHECK(reports::run_command("a b.yaml", {"parallel.tp=4", "name=it's"}, "--engine reference") ==
        "paceline run 'a b.yaml' --set parallel.tp=4 --set 'name=it'\\''s' --engine reference");
}

TEST_CASE("the action that runs at the memory peak is named", "[reports]") {
  const auto answer = example();
  REQUIRE(answer.classes.size() == 2);
  CHECK(answer.classes[0].at.find('1') != std::string::npos);  // F of microbatch 1
}

TEST_CASE("a result file read back and written again has the same bytes", "[reports]") {
  auto answer = example();
  answer.scenario = "quotes \" and \\ and \n and \xC3\xA9";
  answer.result.warnings = {"careful"};
  answer.stack.clear();
  const std::string text = reports::to_json(answer);
  const auto document = base::parse_json(text, "r.json");
  REQUIRE(reports::is_result(document));
  CHECK(reports::to_json(reports::read_answer(document)) == text);
}

TEST_CASE("the result file has the keys of the format", "[reports]") {
  const auto document = base::parse_json(reports::to_json(example()), "r.json");
  for (const char* key : {"schema",
                          "scenario.hash",
                          "engine",
                          "step_time_s",
                          "step_time_band_s",
                          "tokens_per_s",
                          "samples_per_s",
                          "mfu",
                          "hfu",
                          "model_flops_per_step",
                          "bubble_fraction.makespan",
                          "bubble_fraction.longest_stage",
                          "breakdown_s.compute",
                          "breakdown_s.exposed_dp",
                          "memory.peak_bytes",
                          "memory.capacity_bytes",
                          "memory.fits",
                          "memory.per_rank.0.ranks",
                          "memory.per_rank.1.parts_bytes.parameters",
                          "traffic_bytes.dp",
                          "assumptions",
                          "warnings",
                          "version",
                          "command",
                          "scenario.stack",
                          "scenario.profiles"}) {
    INFO(key);
    CHECK(base::find_path(document.root, key) != nullptr);
  }
}

TEST_CASE("another schema, an unknown part and an edited verdict are refused", "[reports]") {
  const std::string good = reports::to_json(example());
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    CHECK_THROWS_WITH(reports::read_answer(base::parse_json(text, "r.json")),
                      Catch::Contains("r.json") && Catch::Contains(message));
  };
  refused("paceline-result-1", "paceline-result-9", "this version reads \"paceline-result-1\"");
  refused("\"exposed_dp\"", "\"exposed_dq\"", "exposed_dq");
  refused("\"fits\": true", "\"fits\": false", "contradicts");
  refused("\"step_time_s\": 0.131", "\"step_time_s\": -1", "step_time_s");
}

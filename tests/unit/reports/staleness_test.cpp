// SPDX-License-Identifier: Apache-2.0
#include "reports/staleness.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "reports/answer.hpp"
#include "reports/result_json.hpp"
#include "reports/text.hpp"
#include "tests/unit/reports/example.hpp"

using namespace paceline;

namespace {

reports::Answer stale_answer() {
  sim::Prediction prediction = tests::example_prediction();
  sim::Staleness s;
  s.histogram = {0, 10, 20};
  s.max = 2;
  s.mean = 5.0 / 3;
  s.mismatch = 1;
  s.versions = {3, 1};
  prediction.result.staleness = s;
  return reports::make_answer(tests::example_scenario(), prediction, "paceline run x.yaml");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("staleness is part of results with updates and reads back", "[reports]") {
  const std::string json = to_json(stale_answer());
  CHECK(json.find("\"histogram\": [0, 10, 20]") != std::string::npos);
  const auto read = reports::read_answer(base::parse_json(json, "r.json"));
  REQUIRE(read.result.staleness);
  CHECK(read.result.staleness->versions == std::vector<int>{3, 1});
  CHECK(to_json(read) == json);
  const reports::Answer plain = reports::make_answer(
      tests::example_scenario(), tests::example_prediction(), "paceline run x.yaml");
  CHECK(to_json(plain).find("staleness") == std::string::npos);
}

TEST_CASE("an edited staleness is refused", "[reports]") {
  const std::string json =
      replaced(to_json(stale_answer()), "\"histogram\": [0, 10, 20]", "\"histogram\": [0, 10]");
  CHECK_THROWS_WITH(reports::read_answer(base::parse_json(json, "r.json")),
                    Catch::Contains("histogram"));
}

TEST_CASE("the report says how late gradients are", "[reports]") {
  const std::string text = to_text(stale_answer(), {});
  CHECK(text.find("gradients up to 2 updates late, 1.67 on average") != std::string::npos);
  CHECK(reports::describe(sim::Staleness{}) ==
        "gradients are applied to the weights they were made of");
}

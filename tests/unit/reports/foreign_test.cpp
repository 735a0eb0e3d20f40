// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "reports/answer.hpp"
#include "reports/result_json.hpp"
#include "reports/text.hpp"
#include "tests/unit/reports/example.hpp"

using namespace paceline;

namespace {

reports::Answer foreign_answer(const sim::ForeignDone& done) {
  sim::Prediction prediction = tests::example_prediction();
  prediction.result.foreign = done;
  return reports::make_answer(tests::example_scenario(), prediction, "paceline run x.yaml");
}

}  // namespace

TEST_CASE("foreign work is part of results and reads back", "[reports]") {
  std::string json = to_json(foreign_answer({40, 30, 0.01}));
  const auto read = reports::read_answer(base::parse_json(json, "r.json"));
  REQUIRE(read.result.foreign);
  CHECK(read.result.foreign->pieces == 40);
  CHECK(read.result.foreign->done == 30);
  CHECK(read.result.foreign->piece_seconds == 0.01);
  CHECK(to_json(read) == json);
  const std::string done = "\"done\": 30";
  const std::size_t at = json.find(done);
  REQUIRE(at != std::string::npos);
  json.replace(at, done.size(), "\"done\": 50");
  CHECK_THROWS_WITH(reports::read_answer(base::parse_json(json, "r.json")),
                    Catch::Contains("done"));
}

TEST_CASE("the report says how much foreign work is done", "[reports]") {
  const std::string all = to_text(foreign_answer({40, 40, 0.01}), {});
  CHECK(all.find("40 of 40 pieces of 10.0 ms") != std::string::npos);
  CHECK(all.find("not done") == std::string::npos);
  CHECK(to_text(foreign_answer({40, 39, 0.01}), {}).find("not done") != std::string::npos);
}

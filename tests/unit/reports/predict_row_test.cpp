// SPDX-License-Identifier: Apache-2.0
#include "reports/predict_row.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

using namespace paceline;

namespace {

void inside_bounds(const std::string& name) {
  const models::MeasuredSet set = models::read_set(models::set_file(name));
  const auto suites = reports::validate_set(set, reports::predict_row);
  REQUIRE_FALSE(suites.empty());
  for (const reports::Suite& suite : suites) {
    CAPTURE(suite.name, suite.kept.mean, suite.kept.worst, suite.kept.worst_id,
            suite.kept.unpredicted, suite.cases.front().why);
    CHECK(suite.has_bound());
    CHECK(suite.passed());
  }
}

}  // namespace

TEST_CASE("memory formulas give the published figures to the last digit", "[reports]") {
  inside_bounds("korthikanti-fig1-memory");
  inside_bounds("korthikanti-fig7-activation");
}

TEST_CASE("bubble rates agree with the published ones to four digits", "[reports]") {
  inside_bounds("golden-bubble-rates");
  inside_bounds("golden-bubble-rates-interleaved");
}

TEST_CASE("throughput of 1F1B follows from stage times and what ZB-2p's runs lost", "[reports]") {
  const models::MeasuredSet set = models::read_set(models::set_file("zero-bubble-throughput"));
  int rows = 0;
  double sum = 0;
  for (const reports::Suite& suite : reports::validate_set(set, reports::predict_row)) {
    if (suite.name != "zero-bubble-throughput.step_time_s") continue;
    for (const reports::Suite::Case& row : suite.cases) {
      if (row.value.id.find(" 1f1b ") == std::string::npos) continue;
      ++rows;
      sum += std::abs(row.error.value());
    }
  }
  REQUIRE(rows == 6);
  CHECK(sum / rows < 0.01);
}

TEST_CASE("a row that cannot be predicted says why", "[reports]") {
  models::MeasuredSet set = models::read_set(models::set_file("megatron-sc21-table1"));
  base::set_path(set.rows[0].scenario, "parallel.dp", "999");
  const reports::RowPrediction prediction = reports::predict_row(set.rows[0]);
  CHECK(prediction.values.empty());
  CHECK_THAT(prediction.failure, Catch::Contains("parallel.dp: tp*pp*cp*dp needs 999"));
}

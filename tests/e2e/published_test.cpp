// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "models/scenario/set.hpp"
#include "reports/predict_row.hpp"
#include "reports/validate.hpp"

using namespace paceline;

TEST_CASE("every published set has an answer for each row and stays inside its bounds", "[e2e]") {
  const std::string name = GENERATE(from_range(models::set_names()));
  DYNAMIC_SECTION(name) {
    const models::MeasuredSet set = models::read_set(models::set_file(name));
    for (const reports::Suite& suite : reports::validate_set(set, reports::predict_row)) {
      CAPTURE(suite.name, suite.kept.mean, suite.kept.worst, suite.kept.worst_id, suite.all.mean,
              suite.kept.false_positives);
      for (const reports::Suite::Case& one : suite.cases) {
        CAPTURE(one.value.id, one.why);
        if (!one.error) FAIL_CHECK("no answer");
      }
      CHECK(suite.passed());
    }
  }
}

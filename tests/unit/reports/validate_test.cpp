// SPDX-License-Identifier: Apache-2.0
#include "reports/validate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "base/config.hpp"

using namespace paceline::reports;
using paceline::base::find_path;
using paceline::models::Measured;
using paceline::models::MeasuredSet;

namespace {

MeasuredSet small_set() {
  MeasuredSet set;
  set.name = "s";
  set.title = "Small <set>";
  set.source = "a paper";
  paceline::models::SetQuantity time;
  time.name = "step_time_s";
  time.goal.mean = 0.02;
  time.bound.mean = 0.05;
  time.bound.worst = 0.2;
  time.bound_all.mean = 0.1;
  paceline::models::SetQuantity fits;
  fits.name = "fits";
  fits.metric = paceline::models::ErrorMetric::Fraction;
  set.quantities = {time, fits};
  set.exclusions = {{"row c", "broken run", "step_time_s", 1}};
  const auto row = [&](const std::string& id, double seconds, std::vector<int> excluded) {
    paceline::models::SetRow r;
    r.id = id;
    r.group = "g";
    r.measured["step_time_s"] = Measured{seconds, 1, std::move(excluded)};
    r.measured["fits"] = Measured{1, 1, {}};
    set.rows.push_back(std::move(r));
  };
  row("a", 10, {});
  row("b", 20, {});
  row("c", 30, {0});
  return set;
}

/// Predicts a and b `factor` times their measured time and c at twice it.
Predictor scaled(double factor) {
  return [factor](const paceline::models::SetRow& row) {
    RowPrediction p;
    const double measured = row.measured.at("step_time_s").value;
    p.values["step_time_s"] = measured * (row.id == "c" ? 1.15 : factor);
    p.values["fits"] = 1;
    p.model_flops = 100 * measured;
    p.peak_flops_per_s = 200;
    return p;
  };
}

}  // namespace

TEST_CASE("a suite passes within its bounds and says when the goal is met", "[reports]") {
  const auto suites = validate_set(small_set(), scaled(1.03));
  REQUIRE(suites.size() == 2);
  CHECK(suites[0].name == "s.step_time_s");
  CHECK(suites[0].kept.rows == 2);
  CHECK(suites[0].kept.mean == Approx(0.03));
  CHECK(suites[0].all.rows == 3);
  CHECK(suites[0].all.mean == Approx(0.07));
  CHECK(suites[0].passed());
  CHECK_FALSE(suites[0].goal_met());
  CHECK(*suites[0].flat_error == Approx(0).margin(1e-12));
  CHECK(suites[1].passed());
  CHECK_FALSE(suites[1].has_bound());
  CHECK(validate_set(small_set(), scaled(1.01))[0].goal_met());
}

TEST_CASE("a suite fails beyond any bound", "[reports]") {
  CHECK_FALSE(validate_set(small_set(), scaled(1.06))[0].passed());
  MeasuredSet worst = small_set();
  worst.quantities[0].bound.worst = 0.02;
  CHECK_FALSE(validate_set(worst, scaled(1.03))[0].passed());
  MeasuredSet all = small_set();
  all.quantities[0].bound_all.mean = 0.05;
  CHECK_FALSE(validate_set(all, scaled(1.03))[0].passed());
}

TEST_CASE("a row without an answer fails its suite, unless it is excluded", "[reports]") {
  const auto without = [](const std::string& id, double value) {
    return [=](const paceline::models::SetRow& row) {
      RowPrediction p = scaled(1)(row);
      if (row.id != id) return p;
      p.values["step_time_s"] = value;
      p.failure = "does not fit";
      return p;
    };
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(validate_set(small_set(), without("a", nan))[0].passed());
  CHECK(validate_set(small_set(), without("c", nan))[0].passed());
  CHECK(validation_table(validate_set(small_set(), without("a", nan))).find("does not fit") !=
        std::string::npos);
}

TEST_CASE("the table names exclusions, misses and what a flat MFU does better", "[reports]") {
  const std::string table = validation_table(validate_set(small_set(), scaled(1.03)));
  CHECK(table.find("with the 1 excluded") != std::string::npos);
  CHECK(table.find("s.step_time_s: 1 row, row c") != std::string::npos);
  CHECK(table.find("Goal missed\n  s.step_time_s: mean 3.0 %") != std::string::npos);
  CHECK(table.find("One MFU for the whole set is closer\n  s.step_time_s: 0.0 % against 3.0 %") !=
        std::string::npos);
  CHECK(table.find("in 1 of 1 groups") != std::string::npos);
  CHECK(table.find("Bound exceeded") == std::string::npos);
}

TEST_CASE("the JSON document has the fields of a validation", "[reports]") {
  const std::string text =
      validation_json(validate_set(small_set(), scaled(1.03)), "paceline validate s");
  const auto document = paceline::base::parse_json(text, "v.json");
  const auto* suite = find_path(document.root, "suites.0");
  REQUIRE(suite != nullptr);
  for (const char* path :
       {"name", "metric", "rows", "mean_error", "worst_error", "kendall_tau", "baseline_error",
        "goal.mean", "bound.worst", "passed", "excluded.0.why", "cases.2.predicted",
        "cases.0.source", "all_rows.mean_error", "choices.0.regret"}) {
    CAPTURE(path);
    CHECK(find_path(*suite, path) != nullptr);
  }
  CHECK(find_path(*suite, "metric")->text == "relative");
  CHECK(find_path(document.root, "suites.1.metric")->text == "fraction");
  CHECK(find_path(document.root, "passed")->text == "true");
}

TEST_CASE("the plot is well-formed and draws every compared row", "[reports]") {
  const std::string svg = validation_plot(validate_set(small_set(), scaled(1.03)));
  CHECK(svg.find("<svg") != std::string::npos);
  CHECK(svg.find("s.step_time_s: c, measured 30.000, predicted 34.500 (15.0 %), excluded") !=
        std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK_NOTHROW(validation_plot({}));
}

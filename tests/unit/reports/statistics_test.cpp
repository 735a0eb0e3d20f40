// SPDX-License-Identifier: Apache-2.0
#include "reports/statistics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace paceline::reports;
using paceline::models::ErrorMetric;

namespace {

Compared pair(const std::string& id, double measured, double predicted,
              const std::string& group = "", bool excluded = false) {
  return {id, measured, predicted, 1, group, excluded};
}

}  // namespace

TEST_CASE("errors are signed and follow their metric", "[reports]") {
  CHECK(*row_error(ErrorMetric::Relative, 2, 3) == Approx(0.5));
  CHECK(*row_error(ErrorMetric::Log, 2, 1) == Approx(-std::log(2)));
  CHECK(*row_error(ErrorMetric::Absolute, 10, 7, 2) == Approx(-1.5));
  CHECK(*row_error(ErrorMetric::Fraction, 0, 1) == 1);
  CHECK(*row_error(ErrorMetric::Fraction, 1, 0) == -1);
  CHECK_FALSE(row_error(ErrorMetric::Relative, 0, 1));
  CHECK_FALSE(row_error(ErrorMetric::Log, 1, 0));
}

TEST_CASE("figures leave excluded rows out unless asked", "[reports]") {
  const std::vector<Compared> rows{pair("a", 10, 11),
                                   pair("b", 10, 8),
                                   pair("c", 10, 20, "", true),
                                   {"d", 10, std::nullopt, 1, "", false}};
  const ErrorFigures kept = error_figures(rows, ErrorMetric::Relative);
  CHECK(kept.rows == 2);
  CHECK(kept.unpredicted == 1);
  CHECK(kept.mean == Approx(0.15));
  CHECK(kept.worst == Approx(-0.2));
  CHECK(kept.worst_id == "b");
  CHECK(kept.bias == Approx(-0.05));
  const ErrorFigures all = error_figures(rows, ErrorMetric::Relative, true);
  CHECK(all.rows == 3);
  CHECK(all.worst_id == "c");
}

TEST_CASE("labels count wrong answers and false positives apart", "[reports]") {
  const std::vector<Compared> rows{pair("a", 1, 1), pair("b", 0, 1), pair("c", 1, 0),
                                   pair("d", 0, 0)};
  const ErrorFigures figures = error_figures(rows, ErrorMetric::Fraction);
  CHECK(figures.mean == Approx(0.5));
  CHECK(figures.false_positives == Approx(0.25));
  CHECK_FALSE(figures.kendall_tau);
}

TEST_CASE("tau-b is 1 for equal order, -1 for reversed, and corrects for ties", "[reports]") {
  const std::vector<double> up{1, 2, 3, 4}, down{9, 7, 5, 1}, tied{1, 1, 2, 3};
  CHECK(*kendall_tau_b(up, up) == Approx(1));
  CHECK(*kendall_tau_b(up, down) == Approx(-1));
  // Five concordant pairs of six, one tied: 5 / sqrt(6 * 5).
  CHECK(*kendall_tau_b(up, tied) == Approx(5 / std::sqrt(30.0)));
  const std::vector<double> equal{2, 2, 2, 2};
  CHECK_FALSE(kendall_tau_b(up, equal));
}

TEST_CASE("regret is what the predicted best costs in measured time", "[reports]") {
  const std::vector<Compared> rows{pair("a", 10, 9, "g"),      pair("b", 8, 10, "g"),
                                   pair("c", 1, 1, "g", true), pair("d", 5, 4, "h"),
                                   pair("e", 6, 7, "h"),       pair("alone", 3, 3, "i"),
                                   pair("without", 1, 1)};
  const auto choices = best_choices(rows);
  REQUIRE(choices.size() == 2);
  CHECK(choices[0].group == "g");
  CHECK(choices[0].rows == 2);
  CHECK(choices[0].chosen == "a");
  CHECK(choices[0].best == "b");
  CHECK(choices[0].regret == Approx(0.25));
  CHECK(choices[1].regret == 0);
}

TEST_CASE("the flat baseline gives every row the median MFU of the rows that count", "[reports]") {
  const std::vector<FlatRow> rows{{1, 40, 100, false},
                                  {1, 50, 100, false},
                                  {1, 60, 100, false},
                                  {1, 1, 100, true},
                                  {1, 0, 100, false}};
  REQUIRE(flat_mfu(rows));
  CHECK(*flat_mfu(rows) == Approx(0.5));
  CHECK(flat_time(rows[0], 0.5) == Approx(0.8));
  CHECK_FALSE(flat_mfu(std::vector<FlatRow>{{1, 0, 0, false}}));
}

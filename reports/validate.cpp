// SPDX-License-Identifier: Apache-2.0
#include "reports/validate.hpp"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace paceline::reports {
namespace {

using models::ErrorLimit;
using models::MeasuredSet;
using models::SetQuantity;
using models::SetRow;

constexpr std::string_view kStepTime = "step_time_s";  // the quantity layouts are chosen by

bool within(const ErrorFigures& figures, const ErrorLimit& limit) {
  if (limit.mean && !(figures.mean <= *limit.mean)) return false;
  if (limit.worst && !(std::fabs(figures.worst) <= *limit.worst)) return false;
  return !limit.false_positives || figures.false_positives <= *limit.false_positives;
}

bool stated(const ErrorLimit& limit) { return limit.mean || limit.worst || limit.false_positives; }

std::string excluding_rules(const MeasuredSet& set, const models::Measured& measured) {
  std::string why;
  for (const int index : measured.excluded_by) {
    const models::Exclusion& rule = set.exclusions[static_cast<std::size_t>(index)];
    why += (why.empty() ? "" : "; ") + rule.rule + ": " + rule.why;
  }
  return why;
}

Suite::Case make_case(const MeasuredSet& set, const SetQuantity& quantity, const SetRow& row,
                      const models::Measured& measured, const RowPrediction& prediction) {
  Suite::Case one;
  one.value = {row.id,         measured.value, std::nullopt,
               measured.scale, row.group,      !measured.excluded_by.empty()};
  one.why = excluding_rules(set, measured);
  const auto value = prediction.values.find(quantity.name);
  if (value != prediction.values.end() && std::isfinite(value->second)) {
    one.value.predicted = value->second;
    one.error = row_error(quantity.metric, measured.value, value->second, measured.scale);
  } else if (!one.value.excluded) {
    one.why = prediction.failure.empty() ? "no prediction of " + quantity.name : prediction.failure;
  }
  return one;
}

/// The baseline's errors, where the quantity is the step time and the rows have FLOPs.
void add_baseline(Suite& suite, const std::vector<FlatRow>& rows) {
  if (suite.quantity.name != kStepTime) return;
  const auto mfu = flat_mfu(rows);
  if (!mfu) return;
  std::vector<Compared> flat;
  for (std::size_t i = 0; i < suite.cases.size(); ++i) {
    Suite::Case& one = suite.cases[i];
    Compared value = one.value;
    value.predicted.reset();
    if (rows[i].model_flops > 0 && rows[i].peak_flops_per_s > 0)
      value.predicted = flat_time(rows[i], *mfu);
    if (value.predicted)
      one.flat_error =
          row_error(suite.quantity.metric, value.measured, *value.predicted, value.scale);
    flat.push_back(std::move(value));
  }
  suite.flat_error = error_figures(flat, suite.quantity.metric).mean;
  suite.flat_error_all = error_figures(flat, suite.quantity.metric, true).mean;
}

/// The rules that take rows of one quantity, with how many.
std::vector<models::Exclusion> exclusions_of(const MeasuredSet& set, const SetQuantity& quantity) {
  std::vector<models::Exclusion> rules = set.exclusions;
  for (models::Exclusion& rule : rules) rule.rows = 0;
  for (const SetRow& row : set.rows) {
    const auto measured = row.measured.find(quantity.name);
    if (measured == row.measured.end()) continue;
    for (const int index : measured->second.excluded_by)
      ++rules[static_cast<std::size_t>(index)].rows;
  }
  std::erase_if(rules, [](const models::Exclusion& rule) { return rule.rows == 0; });
  return rules;
}

Suite make_suite(const MeasuredSet& set, const SetQuantity& quantity,
                 const std::vector<RowPrediction>& predictions) {
  Suite suite;
  suite.name = set.name + "." + quantity.name;
  suite.title = set.title;
  suite.source = set.source;
  suite.quantity = quantity;
  suite.exclusions = exclusions_of(set, quantity);
  std::vector<FlatRow> flat;
  for (std::size_t r = 0; r < set.rows.size(); ++r) {
    const auto measured = set.rows[r].measured.find(quantity.name);
    if (measured == set.rows[r].measured.end()) continue;
    suite.cases.push_back(make_case(set, quantity, set.rows[r], measured->second, predictions[r]));
    flat.push_back({measured->second.value, predictions[r].model_flops,
                    predictions[r].peak_flops_per_s, !measured->second.excluded_by.empty()});
  }
  std::vector<Compared> values;
  for (const Suite::Case& one : suite.cases) values.push_back(one.value);
  suite.kept = error_figures(values, quantity.metric);
  suite.all = error_figures(values, quantity.metric, true);
  if (quantity.name == kStepTime) suite.choices = best_choices(values);
  add_baseline(suite, flat);
  return suite;
}

}  // namespace

bool Suite::has_bound() const { return stated(quantity.bound) || stated(quantity.bound_all); }

bool Suite::passed() const {
  if (!has_bound()) return true;
  if (kept.unpredicted > 0 || kept.rows == 0) return false;
  return within(kept, quantity.bound) && within(all, quantity.bound_all);
}

bool Suite::goal_met() const {
  return kept.rows > 0 && kept.unpredicted == 0 && within(kept, quantity.goal);
}

std::vector<Suite> validate_set(const MeasuredSet& set, const Predictor& predict) {
  std::vector<RowPrediction> predictions;
  predictions.reserve(set.rows.size());
  for (const SetRow& row : set.rows) predictions.push_back(predict(row));
  std::vector<Suite> suites;
  for (const SetQuantity& quantity : set.quantities)
    suites.push_back(make_suite(set, quantity, predictions));
  return suites;
}

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "reports/validate.hpp"

namespace paceline::reports {
namespace {

using base::JsonWriter;
using models::ErrorMetric;

std::string_view metric_name(ErrorMetric metric) {
  switch (metric) {
    case ErrorMetric::Relative:
      return "relative";
    case ErrorMetric::Log:
      return "log";
    case ErrorMetric::Absolute:
      return "absolute";
    case ErrorMetric::Fraction:
      return "fraction";
  }
  return "";
}

void optional_field(JsonWriter& json, std::string_view name, const std::optional<double>& value) {
  json.key(name);
  if (value && std::isfinite(*value)) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_limit(JsonWriter& json, std::string_view name, const models::ErrorLimit& limit) {
  json.key(name).begin_object();
  if (limit.mean) json.field("mean", *limit.mean);
  if (limit.worst) json.field("worst", *limit.worst);
  if (limit.false_positives) json.field("false_positives", *limit.false_positives);
  json.end_object();
}

void write_figures(JsonWriter& json, const Suite& suite, const ErrorFigures& figures,
                   const std::optional<double>& flat) {
  json.field("rows", figures.rows);
  json.field("unpredicted", figures.unpredicted);
  json.field("mean_error", figures.mean);
  json.field("worst_error", std::fabs(figures.worst));
  json.field("worst_id", figures.worst_id);
  json.field("bias", figures.bias);
  if (suite.quantity.metric == ErrorMetric::Fraction)
    json.field("false_positives", figures.false_positives);
  optional_field(json, "kendall_tau", figures.kendall_tau);
  optional_field(json, "baseline_error", flat);
}

void write_choices(JsonWriter& json, const std::vector<Choice>& choices) {
  if (choices.empty()) return;
  json.key("choices").begin_array();
  for (const Choice& choice : choices) {
    json.begin_object();
    json.field("group", choice.group).field("rows", choice.rows);
    json.field("chosen", choice.chosen).field("best", choice.best);
    json.field("regret", choice.regret).field("good", choice.regret <= kGoodChoice);
    json.end_object();
  }
  json.end_array();
}

void write_cases(JsonWriter& json, const Suite& suite) {
  json.key("excluded").begin_array();
  for (const Suite::Case& one : suite.cases) {
    if (!one.value.excluded) continue;
    json.begin_object().field("id", one.value.id).field("why", one.why).end_object();
  }
  json.end_array();
  json.key("cases").begin_array();
  for (const Suite::Case& one : suite.cases) {
    json.begin_object();
    json.field("id", one.value.id).field("measured", one.value.measured);
    optional_field(json, "predicted", one.value.predicted);
    optional_field(json, "error", one.error);
    optional_field(json, "baseline_error", one.flat_error);
    if (!one.error) json.field("why", one.why);
    json.field("source", suite.source);
    json.end_object();
  }
  json.end_array();
}

void write_suite(JsonWriter& json, const Suite& suite) {
  json.begin_object();
  json.field("name", suite.name).field("title", suite.title);
  json.field("metric", metric_name(suite.quantity.metric));
  write_figures(json, suite, suite.kept, suite.flat_error);
  if (!suite.exclusions.empty()) {
    json.key("all_rows").begin_object();
    write_figures(json, suite, suite.all, suite.flat_error_all);
    json.end_object();
  }
  write_limit(json, "goal", suite.quantity.goal);
  write_limit(json, "bound", suite.quantity.bound);
  write_limit(json, "bound_all", suite.quantity.bound_all);
  json.field("passed", suite.passed()).field("goal_met", suite.goal_met());
  write_choices(json, suite.choices);
  write_cases(json, suite);
  json.end_object();
}

}  // namespace

std::string validation_json(const std::vector<Suite>& suites, const std::string& command) {
  JsonWriter json;
  json.begin_object();
  json.field("schema", "paceline-validate-1").field("version", PACELINE_VERSION);
  json.field("command", command);
  json.field("passed", std::all_of(suites.begin(), suites.end(),
                                   [](const Suite& suite) { return suite.passed(); }));
  json.key("suites").begin_array();
  for (const Suite& suite : suites) write_suite(json, suite);
  json.end_array();
  json.end_object();
  return json.finish();
}

}  // namespace paceline::reports

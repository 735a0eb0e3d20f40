// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "reports/validate.hpp"

namespace paceline::reports {
namespace {

using models::ErrorLimit;
using models::ErrorMetric;

/// An error as its metric is read: per cent, or the quantity's own unit. Errors that would round to
/// nothing get more digits.
std::string error_text(ErrorMetric metric, double error, bool with_sign = false) {
  std::string text;
  if (metric == ErrorMetric::Absolute) {
    const double size = std::fabs(error);
    text = base::format_fixed(error, size > 0 && size < 0.01 ? 6 : 2);
  } else {
    const double percent = 100 * error;
    const double size = std::fabs(percent);
    text = base::format_fixed(percent, size >= 5e-5 && size < 0.05 ? 4 : 1) + " %";
  }
  return with_sign && error > 0 ? "+" + text : text;
}

std::string limit_text(ErrorMetric metric, const ErrorLimit& limit) {
  std::string text;
  const auto add = [&](const std::optional<double>& value, std::string_view name) {
    if (!value) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + error_text(metric, *value);
  };
  add(limit.mean, "");
  add(limit.worst, limit.mean ? "" : "worst ");
  add(limit.false_positives, "false ");
  return text.empty() ? "-" : text;
}

std::string verdict(const Suite& suite) {
  if (!suite.passed()) return suite.kept.unpredicted > 0 ? "NO ANSWER" : "EXCEEDED";
  if (!suite.has_bound()) return "report";
  return suite.goal_met() ? "goal" : "bound";
}

using SuiteLine = std::vector<std::string>;

SuiteLine figures_line(const Suite& suite, const std::string& name, const ErrorFigures& figures,
                       const std::optional<double>& flat, const ErrorLimit& goal,
                       const ErrorLimit& bound, const std::string& said) {
  const ErrorMetric metric = suite.quantity.metric;
  const bool fraction = metric == ErrorMetric::Fraction;
  if (figures.rows == 0)
    return {name, "0", "-", "-", "-", "-", "-", limit_text(metric, goal), limit_text(metric, bound),
            said};
  return {name,
          std::to_string(figures.rows),
          error_text(metric, figures.mean),
          fraction ? "false " + error_text(metric, figures.false_positives)
                   : error_text(metric, figures.worst, true),
          error_text(metric, figures.bias, true),
          figures.kendall_tau ? base::format_fixed(*figures.kendall_tau, 2) : "-",
          flat ? error_text(metric, *flat) : "-",
          limit_text(metric, goal),
          limit_text(metric, bound),
          said};
}

/// Columns padded to their widest cell; the first and the last to the left, the others right.
std::string aligned(const std::vector<SuiteLine>& lines) {
  std::vector<std::size_t> width;
  for (const SuiteLine& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], line[c].size());
    }
  std::string text;
  for (const SuiteLine& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string pad(width[c] - line[c].size(), ' ');
      const bool left = c == 0 || c + 1 == line.size();
      row += (c == 0 ? "" : "  ") + (left ? line[c] + pad : pad + line[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

/// A block with a heading, or nothing when there is nothing to say.
std::string block(std::string_view heading, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string text = "\n";
  text.append(heading).append("\n");
  for (const std::string& item : items) text += "  " + item + "\n";
  return text;
}

std::string choices_text(const Suite& suite) {
  const auto good = std::count_if(suite.choices.begin(), suite.choices.end(),
                                  [](const Choice& c) { return c.regret <= kGoodChoice; });
  std::string text = suite.name + ": in " + std::to_string(good) + " of " +
                     std::to_string(suite.choices.size()) + " groups";
  const auto worst =
      std::max_element(suite.choices.begin(), suite.choices.end(),
                       [](const Choice& a, const Choice& b) { return a.regret < b.regret; });
  if (worst->regret > 0)
    text += "; worst " + error_text(ErrorMetric::Relative, worst->regret, true) + " (" +
            worst->group + ": " + worst->chosen + " instead of " + worst->best + ")";
  return text;
}

std::string worst_text(const Suite& suite) {
  if (suite.kept.unpredicted > 0) {
    const auto missing =
        std::find_if(suite.cases.begin(), suite.cases.end(),
                     [](const Suite::Case& c) { return !c.error && !c.value.excluded; });
    return suite.name + ": " + std::to_string(suite.kept.unpredicted) +
           " rows without a prediction" +
           (missing == suite.cases.end() ? ""
                                         : ", first " + missing->value.id + ": " + missing->why);
  }
  return suite.name + ": mean " + error_text(suite.quantity.metric, suite.kept.mean) + ", worst " +
         error_text(suite.quantity.metric, suite.kept.worst, true) + " at " + suite.kept.worst_id;
}

}  // namespace

std::string validation_table(const std::vector<Suite>& suites) {
  std::vector<SuiteLine> lines{{"set", "rows", "mean", "worst", "bias", "tau", "flat MFU",
                                "goal mean", "bound mean, worst", "reaches"}};
  std::vector<std::string> excluded, choices, missed, exceeded, flat;
  for (const Suite& suite : suites) {
    lines.push_back(figures_line(suite, suite.name, suite.kept, suite.flat_error,
                                 suite.quantity.goal, suite.quantity.bound, verdict(suite)));
    int out = 0;
    for (const models::Exclusion& rule : suite.exclusions) {
      out += rule.rows;
      excluded.push_back(suite.name + ": " + std::to_string(rule.rows) +
                         (rule.rows == 1 ? " row, " : " rows, ") + rule.rule);
    }
    if (out > 0)
      lines.push_back(figures_line(suite, "  with the " + std::to_string(out) + " excluded",
                                   suite.all, suite.flat_error_all, {}, suite.quantity.bound_all,
                                   ""));
    if (!suite.choices.empty()) choices.push_back(choices_text(suite));
    if (!suite.passed()) {
      exceeded.push_back(worst_text(suite));
    } else if (suite.has_bound() && !suite.goal_met()) {
      missed.push_back(worst_text(suite));
    }
    if (suite.flat_error && *suite.flat_error < suite.kept.mean)
      flat.push_back(suite.name + ": " + error_text(suite.quantity.metric, *suite.flat_error) +
                     " against " + error_text(suite.quantity.metric, suite.kept.mean));
  }
  return aligned(lines) + block("Bound exceeded", exceeded) + block("Goal missed", missed) +
         block("One MFU for the whole set is closer", flat) +
         block("Predicted best within 3 % of the measured best", choices) +
         block("Excluded (why: the set file, or --json)", excluded);
}

std::string validation_rows(const std::vector<Suite>& suites) {
  std::vector<SuiteLine> lines{{"set", "measured", "predicted", "error", "row"}};
  for (const Suite& suite : suites)
    for (const Suite::Case& one : suite.cases)
      lines.push_back({suite.name, base::format_fixed(one.value.measured, 4),
                       one.value.predicted ? base::format_fixed(*one.value.predicted, 4) : "-",
                       one.error ? error_text(suite.quantity.metric, *one.error, true) : "-",
                       one.value.id + (one.value.excluded ? " (excluded)" : "") +
                           (one.error ? "" : ": " + one.why)});
  return aligned(lines);
}

}  // namespace paceline::reports

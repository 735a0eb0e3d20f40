// SPDX-License-Identifier: Apache-2.0
#include "reports/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace paceline::reports {

using models::ErrorMetric;

std::optional<double> row_error(ErrorMetric metric, double measured, double predicted,
                                double scale) {
  switch (metric) {
    case ErrorMetric::Relative:
      if (!(measured > 0)) return std::nullopt;
      return predicted / measured - 1;
    case ErrorMetric::Log:
      if (!(measured > 0) || !(predicted > 0)) return std::nullopt;
      return std::log(predicted / measured);
    case ErrorMetric::Absolute:
      if (!(scale > 0)) return std::nullopt;
      return (predicted - measured) / scale;
    case ErrorMetric::Fraction:
      return (predicted > 0.5 ? 1.0 : 0.0) - (measured > 0.5 ? 1.0 : 0.0);
  }
  return std::nullopt;
}

ErrorFigures error_figures(std::span<const Compared> rows, ErrorMetric metric, bool with_excluded) {
  ErrorFigures figures;
  std::vector<double> measured, predicted;
  for (const Compared& row : rows) {
    if (row.excluded && !with_excluded) continue;
    const auto error =
        row.predicted ? row_error(metric, row.measured, *row.predicted, row.scale) : std::nullopt;
    if (!error || !std::isfinite(*error)) {
      ++figures.unpredicted;
      continue;
    }
    ++figures.rows;
    measured.push_back(row.measured);
    predicted.push_back(*row.predicted);
    figures.mean += std::fabs(*error);
    figures.bias += *error;
    figures.false_positives += metric == ErrorMetric::Fraction && *error > 0 ? 1 : 0;
    if (figures.worst_id.empty() || std::fabs(*error) > std::fabs(figures.worst)) {
      figures.worst = *error;
      figures.worst_id = row.id;
    }
  }
  if (figures.rows == 0) return figures;
  figures.mean /= figures.rows;
  figures.bias /= figures.rows;
  figures.false_positives /= figures.rows;
  if (metric != ErrorMetric::Fraction) figures.kendall_tau = kendall_tau_b(measured, predicted);
  return figures;
}

std::optional<double> kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = std::min(a.size(), b.size());
  double order = 0;                 // concordant - discordant pairs
  double apart_a = 0, apart_b = 0;  // pairs that differ in a, in b
  const auto sign = [](double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const int in_a = sign(a[i] - a[j]);
      const int in_b = sign(b[i] - b[j]);
      order += in_a * in_b;
      apart_a += in_a != 0 ? 1 : 0;
      apart_b += in_b != 0 ? 1 : 0;
    }
  }
  if (apart_a == 0 || apart_b == 0) return std::nullopt;
  return order / std::sqrt(apart_a * apart_b);
}

std::vector<Choice> best_choices(std::span<const Compared> rows) {
  struct Group {
    std::string name;
    int rows = 0;
    const Compared* chosen = nullptr;
    const Compared* best = nullptr;
  };
  std::vector<Group> groups;
  for (const Compared& row : rows) {
    if (row.excluded || !row.predicted || row.group.empty() || !(row.measured > 0)) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.name == row.group; });
    if (group == groups.end()) {
      groups.push_back({row.group});
      group = groups.end() - 1;
    }
    ++group->rows;
    if (group->chosen == nullptr || *row.predicted < *group->chosen->predicted)
      group->chosen = &row;
    if (group->best == nullptr || row.measured < group->best->measured) group->best = &row;
  }
  std::vector<Choice> choices;
  for (const Group& group : groups) {
    if (group.rows < 2) continue;
    choices.push_back({group.name, group.rows, group.chosen->id, group.best->id,
                       group.chosen->measured / group.best->measured - 1});
  }
  return choices;
}

std::optional<double> flat_mfu(std::span<const FlatRow> rows) {
  std::vector<double> mfu;
  for (const FlatRow& row : rows) {
    if (row.excluded || !(row.measured_s > 0) || !(row.model_flops > 0)) continue;
    if (!(row.peak_flops_per_s > 0)) continue;
    mfu.push_back(row.model_flops / row.measured_s / row.peak_flops_per_s);
  }
  if (mfu.empty()) return std::nullopt;
  std::sort(mfu.begin(), mfu.end());
  const std::size_t half = mfu.size() / 2;
  return mfu.size() % 2 == 1 ? mfu[half] : (mfu[half - 1] + mfu[half]) / 2;
}

double flat_time(const FlatRow& row, double mfu) {
  return row.model_flops / (mfu * row.peak_flops_per_s);
}

}  // namespace paceline::reports

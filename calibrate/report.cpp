// SPDX-License-Identifier: Apache-2.0
#include "calibrate/report.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {

using base::pad_left, base::pad_right;

namespace {

std::string percent(double fraction) { return base::format_fixed(100 * fraction, 1); }

}  // namespace

CurveReport judge(std::string name, std::string law, double bound, std::span<const Judged> rows) {
  CurveReport report;
  report.name = std::move(name);
  report.law = std::move(law);
  report.bound = bound;
  std::vector<double> errors;
  for (const Judged& row : rows) {
    errors.push_back(symmetric_error(row.predicted, row.measured));
    if (errors.back() > kOutlierError) ++report.outliers;
    if (errors.back() >= report.worst) {
      report.worst = errors.back();
      report.worst_label = row.label;
    }
    if (row.held_out) report.held_errors.push_back(symmetric_error(*row.held_out, row.measured));
  }
  report.samples = static_cast<int>(rows.size());
  report.median = median(errors);
  report.p90 = quantile(errors, 0.9);
  if (!report.held_errors.empty()) {
    report.held_median = median(report.held_errors);
    report.held_p90 = quantile(report.held_errors, 0.9);
  }
  return report;
}

std::string report_table(const std::vector<CurveReport>& reports) {
  int width = 5;
  for (const CurveReport& r : reports) width = std::max(width, base::columns(r.name));
  std::string text = pad_right("curve", width) + pad_left("samples", 9) + pad_left("outliers", 10) +
                     pad_left("median", 9) + pad_left("p90", 8) + pad_left("worst", 8) +
                     pad_left("held out", 16) + "  law\n";
  for (const CurveReport& r : reports) {
    const std::string held =
        r.held_median ? percent(*r.held_median) + " / " + percent(*r.held_p90) : "-";
    text += pad_right(r.name, width) + pad_left(std::to_string(r.samples), 9) +
            pad_left(std::to_string(r.outliers), 10) + pad_left(percent(r.median), 9) +
            pad_left(percent(r.p90), 8) + pad_left(percent(r.worst), 8) + pad_left(held, 16) +
            "  " + r.law + "\n";
  }
  text += "errors in %; held out: median / p90 of samples left out of the fit\n";
  for (const CurveReport& r : reports) {
    if (r.passed()) continue;
    text += "REFUSED " + r.name + ": its own samples are off by " + percent(r.median) +
            " % (median; bound " + percent(r.bound) + " %), " + std::to_string(r.outliers) +
            " of " + std::to_string(r.samples) + " by more than " + percent(kOutlierError) +
            " %; worst " + r.worst_label + "\n";
  }
  return text;
}

}  // namespace paceline::calibrate

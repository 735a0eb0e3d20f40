// SPDX-License-Identifier: Apache-2.0
#include "calibrate/report.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "calibrate/columns.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {
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
  std::size_t width = 5;
  for (const CurveReport& r : reports) width = std::max(width, r.name.size());
  std::string text = left("curve", width) + right("samples", 9) + right("outliers", 10) +
                     right("median", 9) + right("p90", 8) + right("worst", 8) +
                     right("held out", 16) + "  law\n";
  for (const CurveReport& r : reports) {
    const std::string held =
        r.held_median ? percent(*r.held_median) + " / " + percent(*r.held_p90) : "-";
    text += left(r.name, width) + right(std::to_string(r.samples), 9) +
            right(std::to_string(r.outliers), 10) + right(percent(r.median), 9) +
            right(percent(r.p90), 8) + right(percent(r.worst), 8) + right(held, 16) + "  " + r.law +
            "\n";
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

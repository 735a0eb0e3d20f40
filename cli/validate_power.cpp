// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_power.hpp"

#include "base/text.hpp"
#include "calibrate/power_limits.hpp"
#include "models/scenario/set.hpp"

namespace paceline::cli {
namespace {

using calibrate::PowerPoint;
using calibrate::PowerRow;

/// One of the four: a quantity of a row, from one of the two ways to predict it.
struct View {
  const char *name, *quantity, *title;
  double PowerRow::*value;
  PowerRow PowerPoint::*predicted;
  double bound;
};
constexpr View kViews[] = {
    {"power.fitted.time", "epoch_s", "time under a power cap, fitted on these rows",
     &PowerRow::seconds, &PowerPoint::fitted, 0.03},
    {"power.fitted.power", "mean_W", "mean power under a cap, fitted on these rows",
     &PowerRow::watts, &PowerPoint::fitted, 0.03},
    {"power.another.time", "epoch_s", "time under a power cap, constants of other GPUs",
     &PowerRow::seconds, &PowerPoint::another, 0.06},
    {"power.another.power", "mean_W", "mean power under a cap, constants of other GPUs",
     &PowerRow::watts, &PowerPoint::another, 0.06},
};

reports::Suite suite_of(const View& view, const std::vector<PowerPoint>& points) {
  reports::Suite suite;
  suite.name = view.name;
  suite.title = view.title;
  suite.source = "ml-energy/zeus, power traces of Zeus (You et al., NSDI 2023)";
  suite.quantity.name = view.quantity;
  suite.quantity.bound.mean = view.bound;
  std::vector<reports::Compared> values;
  for (const PowerPoint& point : points) {
    if (view.predicted == &PowerPoint::another && point.known) continue;
    reports::Suite::Case one;
    one.value.id =
        point.gpu + " " + point.work + " at " + base::format_fixed(point.measured.cap, 0) + " W";
    one.value.measured = point.measured.*view.value;
    one.value.predicted = (point.*view.predicted).*view.value;
    one.error = reports::row_error(suite.quantity.metric, one.value.measured, *one.value.predicted);
    values.push_back(one.value);
    suite.cases.push_back(std::move(one));
  }
  suite.kept = suite.all = reports::error_figures(values, suite.quantity.metric);
  return suite;
}

}  // namespace

std::vector<reports::Suite> power_suites() {
  const std::string beside = models::set_file(models::set_names().front());
  const std::string file = beside.substr(0, beside.find_last_of('/') + 1) + "power/limits.csv";
  const auto points = calibrate::predict_power_limits(calibrate::read_power_limits(file));
  std::vector<reports::Suite> suites;
  for (const View& view : kViews) suites.push_back(suite_of(view, points));
  return suites;
}

}  // namespace paceline::cli

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "reports/svg.hpp"
#include "reports/validate.hpp"

namespace paceline::reports {
namespace {

// Sizes leave letters of 10 pixels and more in a picture shrunk to a width of 1000.
constexpr double kTop = 78, kLeft = 76, kSquare = 540;           // scatter, pixels
constexpr double kNames = 642, kStrip = 930, kStripWidth = 230;  // errors by suite
constexpr double kRow = 24, kEdge = 0.30;                        // strips end at +-30 %
constexpr double kWidth = 1230;
constexpr double kText = 13;
constexpr double kExcludedOpacity = 0.25, kOpacity = 0.75;

/// A suite's mark: seven colours, then the same colours as rings, then as squares.
struct Mark {
  std::string_view colour;
  std::size_t shape = 0;
};

Mark mark_of(std::size_t index) { return {svg::series_colour(index), index / 7 % 3}; }

void draw(svg::Picture& picture, const Mark& mark, double x, double y, bool excluded,
          std::string_view hover) {
  const double opacity = excluded ? kExcludedOpacity : kOpacity;
  if (mark.shape == 2) {
    const std::string fill = svg::mix(mark.colour, svg::colour::kPaper, excluded ? 0.7 : 0.1);
    picture.rect(x - 3.2, y - 3.2, 6.4, 6.4, fill, hover);
    return;
  }
  picture.circle(x, y, 3.8, mark.colour, opacity, hover);
  if (mark.shape == 1) picture.circle(x, y, 1.7, svg::colour::kPaper, 1);
}

bool is_relative(const Suite& suite) {
  return suite.quantity.metric == models::ErrorMetric::Relative && suite.kept.rows > 0;
}
bool is_time(const Suite& suite) {
  const std::string& name = suite.quantity.name;
  return is_relative(suite) && name.size() > 2 && name.substr(name.size() - 2) == "_s";
}

std::string hover_text(const Suite& suite, const Suite::Case& one) {
  return suite.name + ": " + one.value.id + ", measured " +
         base::format_fixed(one.value.measured, 3) + ", predicted " +
         base::format_fixed(*one.value.predicted, 3) + " (" +
         base::format_fixed(100 * *one.error, 1) + " %)" + (one.value.excluded ? ", excluded" : "");
}

/// The scatter's square: both axes are log10 seconds from `low` to `high`.
struct Square {
  double low = 0, high = 1;
  double x(double seconds) const {
    return kLeft + kSquare * (std::log10(seconds) - low) / (high - low);
  }
  double y(double seconds) const {
    return kTop + kSquare - kSquare * (std::log10(seconds) - low) / (high - low);
  }
};

Square square_around(const std::vector<Suite>& suites) {
  double low = 1e300, high = 0;
  for (const Suite& suite : suites) {
    if (!is_time(suite)) continue;
    for (const Suite::Case& one : suite.cases) {
      if (!one.error || !(*one.value.predicted > 0)) continue;
      low = std::min({low, one.value.measured, *one.value.predicted});
      high = std::max({high, one.value.measured, *one.value.predicted});
    }
  }
  if (!(high > 0)) return {-1, 2};
  return {std::log10(low) - 0.08, std::log10(high) + 0.08};
}

void draw_axes(svg::Picture& picture, const Square& square) {
  const double low = std::pow(10, square.low), high = std::pow(10, square.high);
  for (const double tick : svg::log_ticks(low, high)) {
    if (tick < low || tick > high) continue;
    const double x = square.x(tick), y = square.y(tick);
    picture.line(x, kTop, x, kTop + kSquare, {svg::colour::kLight, 1, ""});
    picture.line(kLeft, y, kLeft + kSquare, y, {svg::colour::kLight, 1, ""});
    picture.text(x, kTop + kSquare + 18, svg::tick_text(tick),
                 {kText, svg::colour::kInk, svg::Anchor::Middle, false, 0});
    picture.text(kLeft - 8, y + 4, svg::tick_text(tick),
                 {kText, svg::colour::kInk, svg::Anchor::End, false, 0});
  }
  constexpr double kBand = 1.1;
  picture.line(square.x(low), square.y(low), square.x(high), square.y(high),
               {svg::colour::kInk, 1.2, ""});
  picture.line(square.x(low), square.y(low * kBand), square.x(high / kBand), square.y(high),
               {svg::colour::kGrey, 1, "4 3"});
  picture.line(square.x(low * kBand), square.y(low), square.x(high), square.y(high / kBand),
               {svg::colour::kGrey, 1, "4 3"});
  picture.frame(kLeft, kTop, kSquare, kSquare, {svg::colour::kGrey, 1, ""});
  picture.text(kLeft + kSquare / 2, kTop + kSquare + 40, "measured step time, s",
               {kText, svg::colour::kInk, svg::Anchor::Middle, false, 0});
  picture.text(22, kTop + kSquare / 2, "predicted step time, s",
               {kText, svg::colour::kInk, svg::Anchor::Middle, false, -90});
  picture.text(kLeft + 10, kTop + 18, "solid: equal; dashed: 10 % off; faint: excluded rows",
               {kText, svg::colour::kGrey, svg::Anchor::Start, false, 0});
}

/// Error strips: x of an error, clipped at the edges.
double strip_x(double error) {
  return kStrip + kStripWidth * (std::clamp(error, -kEdge, kEdge) + kEdge) / (2 * kEdge);
}

void draw_strip_axes(svg::Picture& picture, double bottom) {
  for (const double error : {-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3}) {
    const double x = strip_x(error);
    const bool zero = error == 0;
    picture.line(x, kTop, x, bottom,
                 {zero ? svg::colour::kInk : svg::colour::kLight, zero ? 1.2 : 1.0, ""});
    picture.text(x, bottom + 18, base::format_fixed(100 * error, 0),
                 {kText, svg::colour::kInk, svg::Anchor::Middle, false, 0});
  }
  picture.text(kStrip + kStripWidth / 2, bottom + 40, "error of a row, %; beyond 30 at the edge",
               {kText, svg::colour::kInk, svg::Anchor::Middle, false, 0});
  picture.text(kStrip + kStripWidth / 2, bottom + 58, "upright ticks: bound; bold: exceeded",
               {kText, svg::colour::kGrey, svg::Anchor::Middle, false, 0});
  picture.text(kNames - 4, kTop - 8, "set (and quantity, if not step time)",
               {kText, svg::colour::kInk, svg::Anchor::Start, true, 0});
  picture.text(kStrip + kStripWidth + 14, kTop - 8, "mean",
               {kText, svg::colour::kInk, svg::Anchor::Start, true, 0});
}

void draw_strip(svg::Picture& picture, const Suite& suite, const Mark& mark, double y) {
  draw(picture, mark, kNames, y, false, "");
  std::string name = suite.name;
  constexpr std::string_view kTime = ".step_time_s";
  if (name.ends_with(kTime)) name.resize(name.size() - kTime.size());
  picture.text(kNames + 10, y + 4, name, {kText, svg::colour::kInk, svg::Anchor::Start, false, 0});
  if (const auto worst = suite.quantity.bound.worst; worst && *worst <= kEdge) {
    for (const double side : {-1.0, 1.0})
      picture.line(strip_x(side * *worst), y - 8, strip_x(side * *worst), y + 8,
                   {svg::colour::kGrey, 1.4, ""});
  }
  for (const Suite::Case& one : suite.cases)
    if (one.error)
      draw(picture, mark, strip_x(*one.error), y, one.value.excluded, hover_text(suite, one));
  picture.text(kStrip + kStripWidth + 14, y + 4,
               base::format_fixed(100 * suite.kept.mean, 1) + " %",
               {kText, svg::colour::kInk, svg::Anchor::Start, !suite.passed(), 0});
}

}  // namespace

std::string validation_plot(const std::vector<Suite>& suites) {
  std::vector<const Suite*> shown;
  for (const Suite& suite : suites)
    if (is_relative(suite)) shown.push_back(&suite);
  const double bottom =
      kTop + std::max(kSquare, kRow * static_cast<double>(shown.size()) + kRow / 2);
  svg::Picture picture(kWidth, bottom + 72, "Predicted against measured step times");
  picture.text(kLeft, 34, "Predicted against measured",
               {21, svg::colour::kInk, svg::Anchor::Start, true, 0});
  picture.text(kLeft, 54,
               "published training runs, one profile per device, one spec per software stack",
               {kText, svg::colour::kGrey, svg::Anchor::Start, false, 0});
  const Square square = square_around(suites);
  draw_axes(picture, square);
  draw_strip_axes(picture, bottom);
  for (std::size_t s = 0; s < shown.size(); ++s) {
    const Mark mark = mark_of(s);
    draw_strip(picture, *shown[s], mark, kTop + kRow * (static_cast<double>(s) + 0.75));
    if (!is_time(*shown[s])) continue;
    for (const Suite::Case& one : shown[s]->cases)
      if (one.error && *one.value.predicted > 0)
        draw(picture, mark, square.x(one.value.measured), square.y(*one.value.predicted),
             one.value.excluded, hover_text(*shown[s], one));
  }
  return picture.finish();
}

}  // namespace paceline::reports

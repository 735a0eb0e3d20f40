// SPDX-License-Identifier: Apache-2.0
#include "reports/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/convergence/report.hpp"

namespace paceline::reports {
namespace {

using namespace sim::convergence;

constexpr double kPanel = 300, kPanelWidth = 420, kMargin = 66, kHead = 84, kGap = 74;
constexpr double kLetters = 13;

constexpr std::array<std::string_view, 3> kDashes{"", "6 3", "2 3"};

/// One line of a panel: medians and ranges over seeds at the same places.
struct Line {
  std::string name;
  std::string_view colour, dash;
  std::vector<double> x, median, low, high;
};

struct Panel {
  std::string title, x_title;
  std::vector<Line> lines;
};

/// Points that every run of the cell has reached.
Line line_of(const ConvergenceReport& report, std::size_t c, bool seconds, std::size_t colour) {
  const CellResult& cell = report.result.cells[c];
  const Clock& clock = report.study.clocks[report.study.cells[c].method];
  const Study& study = report.study;
  const Cell& of = study.cells[c];
  const std::string prefix = study.objectives[of.objective].name + ".";
  const bool within = of.name.starts_with(prefix);  // the panel is called that already
  Line line{within ? of.name.substr(prefix.size()) : of.name,
            svg::series_colour(colour),
            kDashes[colour / 7 % 3],
            {},
            {},
            {},
            {}};
  std::size_t points = cell.runs.front().curve.size();
  for (const Run& run : cell.runs) points = std::min(points, run.curve.size());
  for (std::size_t p = 0; p < points; ++p) {
    std::vector<double> losses;
    for (const Run& run : cell.runs) losses.push_back(run.curve[p].loss);
    const Spread s = spread_of(std::move(losses));
    const Run& first = cell.runs.front();
    line.x.push_back(seconds ? seconds_at(clock, first, first.curve[p]) : first.curve[p].step);
    line.median.push_back(s.median);
    line.low.push_back(s.low);
    line.high.push_back(s.high);
  }
  return line;
}

/// Objectives with one line each are compared with each other.
Panel together(const std::vector<Panel>& panels) {
  Panel all{"", panels.front().x_title, {}};
  for (const Panel& panel : panels) {
    const std::size_t number = all.lines.size();
    all.lines.push_back(panel.lines.front());
    all.lines.back().colour = svg::series_colour(number);
    all.lines.back().dash = kDashes[number / 7 % 3];
  }
  return all;
}

std::vector<Panel> panels_of(const ConvergenceReport& report) {
  std::vector<Panel> panels;
  for (std::size_t o = 0; o < report.study.objectives.size(); ++o) {
    for (const bool seconds : {false, true}) {
      Panel panel{report.study.objectives[o].name, seconds ? "simulated seconds" : "steps", {}};
      std::size_t colour = 0;
      for (std::size_t c = 0; c < report.study.cells.size(); ++c) {
        const Cell& cell = report.study.cells[c];
        if (cell.objective != o || report.result.cells[c].runs.empty()) continue;
        const bool clock = report.study.clocks[cell.method].step_seconds > 0;
        if (!seconds || clock) panel.lines.push_back(line_of(report, c, seconds, colour));
        ++colour;
      }
      if (!panel.lines.empty()) panels.push_back(std::move(panel));
    }
  }
  const bool alone = std::all_of(panels.begin(), panels.end(), [](const Panel& p) {
    return p.lines.size() == 1 && p.x_title == "steps";
  });
  return alone && panels.size() > 1 ? std::vector<Panel>{together(panels)} : panels;
}

/// From data to pixels; the loss is logarithmic where all of it is positive, time where some lines
/// end long before others.
struct Axes {
  double left = 0, top = 0, x_end = 1, low = 0, high = 1;
  bool logarithmic = false;
  double x_begin = 0;  ///< above 0: logarithmic from there
  double x(double value) const {
    if (x_begin <= 0) return left + kPanelWidth * value / x_end;
    const double at = std::log10(std::max(value, x_begin) / x_begin);
    return left + kPanelWidth * at / std::log10(x_end / x_begin);
  }
  double y(double value) const {
    const double at = logarithmic ? std::log10(std::max(value, 1e-300)) : value;
    return top + kPanel * (1 - (std::clamp(at, low, high) - low) / (high - low));
  }
};

Axes axes_of(const Panel& panel, double left, double top) {
  Axes a{left, top, 1e-300, 1e300, -1e300, false, 0};
  constexpr double kFarApart = 5;
  double first = 1e300, earliest = 1e300;
  for (const Line& line : panel.lines) {
    for (std::size_t p = 0; p < line.x.size(); ++p) {
      a.x_end = std::max(a.x_end, line.x[p]);
      a.low = std::min(a.low, line.low[p]);
      a.high = std::max(a.high, line.high[p]);
    }
  }
  for (const Line& line : panel.lines) {
    if (line.x.size() < 2) continue;
    first = std::min(first, line.x[1]);
    earliest = std::min(earliest, line.x.back());
  }
  if (panel.x_title != "steps" && first > 0 && a.x_end > kFarApart * earliest) a.x_begin = first;
  a.logarithmic = a.low > 0 && a.high / a.low > 3;
  if (a.logarithmic) {
    a.low = std::log10(a.low);
    a.high = std::log10(a.high);
  }
  const double room = std::max(1e-12, 0.05 * (a.high - a.low));
  a.low -= room;
  a.high += room;
  return a;
}

void draw_grid(svg::Picture& picture, const Panel& panel, const Axes& a) {
  const svg::TextStyle right{kLetters, svg::colour::kInk, svg::Anchor::End, false, 0};
  const svg::TextStyle middle{kLetters, svg::colour::kInk, svg::Anchor::Middle, false, 0};
  const auto losses = a.logarithmic ? svg::log_ticks(std::pow(10, a.low), std::pow(10, a.high))
                                    : svg::ticks(a.low, a.high, 5);
  for (const double tick : losses) {
    const double at = a.logarithmic ? std::log10(tick) : tick;
    if (at < a.low || at > a.high) continue;
    picture.line(a.left, a.y(tick), a.left + kPanelWidth, a.y(tick), {svg::colour::kLight, 1, ""});
    picture.text(a.left - 6, a.y(tick) + 4, svg::tick_text(tick), right);
  }
  const auto places =
      a.x_begin > 0 ? svg::log_ticks(a.x_begin, a.x_end) : svg::ticks(0, a.x_end, 5);
  constexpr double kApart = 48;  // of two numbers below the axis
  double labelled = -kApart;
  for (const double tick : places) {
    picture.line(a.x(tick), a.top, a.x(tick), a.top + kPanel, {svg::colour::kLight, 1, ""});
    if (a.x(tick) - labelled < kApart) continue;
    labelled = a.x(tick);
    picture.text(labelled, a.top + kPanel + 17, svg::tick_text(tick), middle);
  }
  picture.frame(a.left, a.top, kPanelWidth, kPanel, {svg::colour::kGrey, 1, ""});
  picture.text(a.left, a.top - 8, printable(panel.title),
               {kLetters, svg::colour::kInk, svg::Anchor::Start, true, 0});
  picture.text(a.left + kPanelWidth / 2, a.top + kPanel + 36, panel.x_title, middle);
  picture.text(a.left - 50, a.top + kPanel / 2, "loss",
               {kLetters, svg::colour::kInk, svg::Anchor::Middle, false, -90});
}

void draw_band(svg::Picture& picture, const Line& line, const Axes& a) {
  if (line.x.size() < 2) return;
  std::string data;
  const auto point = [&](double x, double y) {
    data += (data.empty() ? "M" : "L") + svg::number(a.x(x)) + " " + svg::number(a.y(y));
  };
  for (std::size_t p = 0; p < line.x.size(); ++p) point(line.x[p], line.high[p]);
  for (std::size_t p = line.x.size(); p-- > 0;) point(line.x[p], line.low[p]);
  picture.path(data + "Z", svg::mix(line.colour, svg::colour::kPaper, 0.82));
}

void draw_panel(svg::Picture& picture, const Panel& panel, const Axes& a) {
  for (const Line& line : panel.lines) draw_band(picture, line, a);
  draw_grid(picture, panel, a);
  double y = a.top + 12;
  for (const Line& line : panel.lines) {
    std::vector<std::array<double, 2>> points;
    for (std::size_t p = 0; p < line.x.size(); ++p)
      points.push_back({a.x(line.x[p]), a.y(line.median[p])});
    picture.polyline(points, {line.colour, 1.8, line.dash});
    const double x = a.left + kPanelWidth + 12;
    picture.line(x, y - 4, x + 22, y - 4, {line.colour, 2.4, line.dash});
    picture.text(x + 28, y, printable(line.name),
                 {kLetters, svg::colour::kInk, svg::Anchor::Start, false, 0});
    y += 18;
  }
}

}  // namespace

std::string convergence_svg(const ConvergenceReport& report) {
  const std::vector<Panel> panels = panels_of(report);
  std::size_t longest = 0;
  for (const Panel& panel : panels)
    for (const Line& line : panel.lines) longest = std::max(longest, line.name.size());
  const double legend = 62 + 0.62 * kLetters * static_cast<double>(longest);
  const double step = kPanel + kGap, across = kMargin + kPanelWidth + legend;
  const std::size_t rows = (panels.size() + 1) / 2, in_row = panels.size() > 1 ? 2 : 1;
  svg::Picture picture(static_cast<double>(in_row) * across,
                       kHead + static_cast<double>(std::max<std::size_t>(rows, 1)) * step,
                       report.study.name);
  picture.text(20, 26, printable(report.study.name),
               {18, svg::colour::kInk, svg::Anchor::Start, true, 0});
  picture.text(20, 42, "median over seeds; bands from the lowest to the highest",
               {kLetters, svg::colour::kGrey, svg::Anchor::Start, false, 0});
  for (std::size_t i = 0; i < panels.size(); ++i) {
    draw_panel(picture, panels[i],
               axes_of(panels[i], kMargin + static_cast<double>(i % 2) * across,
                       kHead + static_cast<double>(i / 2) * step));
  }
  return picture.finish();
}

}  // namespace paceline::reports

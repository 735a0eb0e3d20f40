// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "reports/outlook.hpp"

namespace paceline::reports {
namespace {

constexpr double kStripHeight = 26;
constexpr double kStripTop = 16;
constexpr std::array<std::string_view, sim::kDoings> kDoingFill{
    svg::colour::kGreen,  svg::colour::kSky,  svg::colour::kVermilion, svg::colour::kPurple,
    svg::colour::kOrange, svg::colour::kGrey, svg::colour::kYellow};

void draw_run_axis(svg::Picture& picture, double seconds, double x, double y, double width) {
  constexpr double kDay = 86400, kHour = 3600;
  const bool days = seconds >= 2 * kDay;
  const double unit = days ? kDay : kHour;
  for (const double tick : svg::ticks(0, seconds / unit, 10)) {
    const double at = x + tick * unit / seconds * width;
    picture.line(at, y, at, y + 4, {.colour = svg::colour::kGrey});
    picture.text(at, y + 15, svg::tick_text(tick), {.size = 10, .anchor = svg::Anchor::Middle});
  }
  picture.text(x + width, y + 28, days ? "days of the run" : "hours of the run",
               {.size = 10, .anchor = svg::Anchor::End});
}

void draw_run_legend(svg::Picture& picture, const sim::RunOutlook& o, double x, double y) {
  for (int d = 0; d < sim::kDoings; ++d) {
    const auto doing = static_cast<sim::Doing>(d);
    const bool used = std::any_of(o.sample.begin(), o.sample.end(),
                                  [&](const sim::RunSpan& s) { return s.doing == doing; });
    if (!used) continue;
    picture.rect(x, y, 10, 10, kDoingFill[static_cast<std::size_t>(d)]);
    picture.text(x + 14, y + 9, sim::to_text(doing), {.size = 10});
    x += 14 + svg::text_width(sim::to_text(doing), 10) + 14;
  }
}

}  // namespace

void draw_run(svg::Picture& picture, const sim::RunOutlook& o, double x, double y, double width) {
  picture.text(16, y + kStripTop + 16, "one sampled run", {.size = 11});
  const double top = y + kStripTop, scale = width / std::max(o.sample_seconds, 1e-9);
  picture.rect(x, top, width, kStripHeight, svg::colour::kLight);
  double drawn = x;
  for (const sim::RunSpan& span : o.sample) {
    const double left = std::max(x + span.begin * scale, drawn);
    const double right = x + span.end * scale;
    const bool works = span.doing == sim::Doing::Work;
    // Stops are far shorter than a pixel: a hair each.
    const double wide = std::min(std::max(right - left, works ? 0.0 : 0.4), x + width - left);
    if (wide <= 0) continue;
    std::string hover;
    if (span.cause >= 0)
      hover = o.causes[static_cast<std::size_t>(span.cause)].name + ": " +
              std::string(sim::to_text(span.doing)) + ", " +
              base::format_seconds(base::Seconds(span.end - span.begin));
    picture.rect(left, top, wide, kStripHeight, kDoingFill[static_cast<std::size_t>(span.doing)],
                 hover);
    drawn = left + wide;
  }
  draw_run_axis(picture, o.sample_seconds, x, top + kStripHeight, width);
  draw_run_legend(picture, o, x, top + kStripHeight + 19);
}

}  // namespace paceline::reports

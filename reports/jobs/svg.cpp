// SPDX-License-Identifier: Apache-2.0
#include "reports/svg.hpp"

#include <algorithm>
#include <cmath>

#include "reports/jobs/report.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {
namespace {

using sim::jobs::JobRun;
using sim::jobs::JobsOutcome;

constexpr double kAcross = 560, kRowLeast = 12, kRowsHigh = 150, kLeft = 130, kBetween = 54,
                 kLegendRow = 18;
constexpr std::size_t kMostPolicies = 12, kMostLegend = 24;

/// Seconds in the largest unit that leaves more than two of them.
struct TimeAxis {
  double scale = 1;
  const char* unit = "s";
};

TimeAxis time_axis(double seconds) {
  if (seconds > 3 * 86400.0) return {86400, "days"};
  if (seconds > 3 * 3600.0) return {3600, "hours"};
  if (seconds > 180) return {60, "minutes"};
  return {};
}

std::string job_colour(std::size_t job) {
  const std::string_view plain = svg::series_colour(job);
  const auto round = static_cast<double>(job / 7 % 3);
  return svg::mix(plain, round > 1 ? svg::colour::kInk : svg::colour::kPaper, round > 0 ? 0.45 : 0);
}

/// What everything in the picture is measured by.
struct Frame {
  const JobsReport& report;
  double end = 0;                     ///< s, of the latest policy
  std::vector<double> tops, heights;  ///< by region, from the top of a panel
};

Frame frame_of(const JobsReport& report) {
  Frame frame{report, 0, {}, {}};
  for (const JobsOutcome& outcome : report.result.outcomes)
    for (const auto& runs : outcome.runs)
      for (const JobRun& run : runs) frame.end = std::max(frame.end, run.finish);
  if (!(frame.end > 0)) frame.end = 1;  // nobody has started
  double all = 0, top = 0;
  for (const models::JobRegion& region : report.result.instance.regions) all += region.devices;
  for (const models::JobRegion& region : report.result.instance.regions) {
    frame.heights.push_back(std::max(kRowLeast, kRowsHigh * region.devices / all));
    frame.tops.push_back(top);
    top += frame.heights.back() + 4;
  }
  return frame;
}

double panel_height(const Frame& frame) { return frame.tops.back() + frame.heights.back(); }

/// A bar that still grows to the right while it keeps its level.
struct Bar {
  double from = 0, until = 0, level = 0, high = 0;
};

/// Moments at which something in a region may change.
std::vector<double> moments(const Frame& frame, const JobsOutcome& outcome) {
  std::vector<double> times;
  for (const auto& runs : outcome.runs) {
    for (const JobRun& run : runs) {
      times.push_back(run.start);
      times.push_back(run.finish);
    }
  }
  for (const models::Reservation& one : frame.report.study.base().reserved)
    for (const double at : {one.from, one.until}) times.push_back(std::min(at, frame.end));
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// Devices of the region that the job holds at a moment.
int held_by(const JobsReport& report, const JobsOutcome& outcome, std::size_t job,
            std::size_t region, double at) {
  const int unit = report.study.base().kinds[report.result.instance.jobs[job].kind].unit;
  for (const JobRun& run : outcome.runs[job]) {
    if (run.start > at || run.finish <= at) continue;
    for (const sim::jobs::PathPart& part : run.path)
      if (part.region == region) return part.stages * unit;
  }
  return 0;
}

/// Devices of a region over time: jobs stand on each other in the order they came, what is reserved
/// and free hangs from above.
void draw_region(svg::Picture& picture, const Frame& frame, const JobsOutcome& outcome,
                 std::size_t region, double top) {
  const JobsReport& report = frame.report;
  const std::vector<double> times = moments(frame, outcome);
  const std::size_t jobs = outcome.runs.size();
  const double height = frame.heights[region], across = kAcross / frame.end;
  const double device = height / report.result.instance.regions[region].devices;
  std::vector<Bar> bars(jobs + 1);  // the last is what is reserved
  const auto finish = [&](std::size_t j) {
    const Bar& bar = bars[j];
    if (!(bar.high > 0)) return;
    const bool job = j < jobs;
    picture.rect(kLeft + bar.from * across, bar.level, (bar.until - bar.from) * across, bar.high,
                 job ? job_colour(j) : std::string(svg::colour::kGrey),
                 job ? report.result.instance.jobs[j].name : "reserved");
  };
  picture.rect(kLeft, top, kAcross, height, svg::colour::kLight);
  for (std::size_t t = 0; t + 1 < times.size(); ++t) {
    double free = height;
    for (std::size_t j = 0; j <= jobs; ++j) {
      Bar bar{times[t], times[t + 1], 0, 0};
      if (j < jobs) {
        bar.high = device * held_by(report, outcome, j, region, times[t]);
        bar.level = top + free - bar.high;
        free -= bar.high;
      } else {
        for (const models::Reservation& one : report.study.base().reserved)
          if (one.region == region && one.from <= times[t] && times[t] < one.until)
            bar.high = std::min(bar.high + device * one.devices, free);
        bar.level = top;
      }
      if (bars[j].high == bar.high && bars[j].level == bar.level && bars[j].until == bar.from) {
        bars[j].until = bar.until;
        continue;
      }
      finish(j);
      bars[j] = bar;
    }
  }
  for (std::size_t j = 0; j <= jobs; ++j) finish(j);
}

void draw_panel(svg::Picture& picture, const Frame& frame, std::size_t policy, double top) {
  const JobsOutcome& outcome = frame.report.result.outcomes[policy];
  const auto& regions = frame.report.result.instance.regions;
  picture.text(kLeft, top - 8, frame.report.study.base().policies[policy],
               {.size = 13, .bold = true});
  for (std::size_t r = 0; r < regions.size(); ++r) {
    draw_region(picture, frame, outcome, r, top + frame.tops[r]);
    picture.text(kLeft - 6, top + frame.tops[r] + frame.heights[r] / 2 + 4,
                 cut(regions[r].name, 14) + " " + std::to_string(regions[r].devices),
                 {.size = 11, .anchor = svg::Anchor::End});
  }
  const TimeAxis axis = time_axis(frame.end);
  const double bottom = top + panel_height(frame);
  for (const double tick : svg::ticks(0, frame.end / axis.scale)) {
    const double x = kLeft + tick * axis.scale * kAcross / frame.end;
    if (x > kLeft + kAcross + 1) continue;
    picture.line(x, bottom, x, bottom + 4);
    picture.text(x, bottom + 16, svg::tick_text(tick), {.size = 11, .anchor = svg::Anchor::Middle});
  }
  picture.text(kLeft + kAcross + 8, bottom + 16, axis.unit, {.size = 11});
}

}  // namespace

std::string jobs_svg(const JobsReport& report) {
  const Frame frame = frame_of(report);
  const std::size_t policies = std::min(report.result.outcomes.size(), kMostPolicies);
  const auto& jobs = report.result.instance.jobs;
  std::vector<std::pair<std::string, std::string>> names;  // with their colours
  for (std::size_t j = 0; j < jobs.size() && jobs.size() <= kMostLegend; ++j)
    names.emplace_back(jobs[j].name, job_colour(j));
  if (!report.study.base().reserved.empty()) names.emplace_back("reserved", svg::colour::kGrey);
  const double legend = kLegendRow * std::ceil(static_cast<double>(names.size()) / 3);
  const double panel = panel_height(frame) + kBetween;
  svg::Picture picture(kLeft + kAcross + 60, 56 + panel * static_cast<double>(policies) + legend,
                       report.study.base().name + ": devices of each region over time");
  picture.text(kLeft, 20, report.study.base().name, {.size = 14, .bold = true});
  for (std::size_t p = 0; p < policies; ++p)
    draw_panel(picture, frame, p, 56 + panel * static_cast<double>(p));
  const double below = 40 + panel * static_cast<double>(policies);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const double x = kLeft + kAcross / 3 * static_cast<double>(n % 3);
    const double y = below + kLegendRow * std::floor(static_cast<double>(n) / 3);
    picture.rect(x, y - 9, 10, 10, names[n].second);
    picture.text(x + 15, y, cut(names[n].first, 26), {.size = 11});
  }
  return picture.finish();
}

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "reports/schedule_sample.hpp"
#include "reports/svg.hpp"

namespace paceline::reports {
namespace {

using sim::Action;
using sim::Task;
using sim::TaskId;
using sim::TaskKind;

constexpr double kWidth = 1000, kLeft = 62, kRight = 74, kTop = 66, kBar = 24, kGap = 6,
                 kBottom = 44;

struct Look {
  std::string_view pass, words, fill;
};
constexpr std::array<Look, 8> kLooks{{{"F", "F forward", svg::colour::kBlue},
                                      {"BW", "BW backward", svg::colour::kGreen},
                                      {"B", "B input gradient", svg::colour::kGreen},
                                      {"W", "W weight gradient", svg::colour::kPurple},
                                      {"R", "R recompute", svg::colour::kYellow},
                                      {"U", "U update", svg::colour::kVermilion},
                                      {"N", "N norm", svg::colour::kOrange},
                                      {"X", "X other work", svg::colour::kGrey}}};
/// For passes with names of their own, in order of declaration.
constexpr std::array<std::string_view, 6> kMore{svg::colour::kSky,    svg::colour::kOrange,
                                                svg::colour::kYellow, svg::colour::kVermilion,
                                                svg::colour::kBlue,   svg::colour::kGreen};

/// B and BW are both green; where a Program has both, BW is darker.
std::string fill_of(const sim::Program& program, std::size_t pass) {
  const bool both = program.passes[pass].name == "BW" &&
                    std::any_of(program.passes.begin(), program.passes.end(),
                                [](const sim::Pass& other) { return other.name == "B"; });
  if (both) return svg::mix(svg::colour::kGreen, svg::colour::kInk, 0.5);
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    const auto* look = std::find_if(kLooks.begin(), kLooks.end(), [&](const Look& l) {
      return l.pass == program.passes[i].name;
    });
    if (i == pass)
      return std::string(look != kLooks.end() ? look->fill : kMore[unknown % kMore.size()]);
    if (look == kLooks.end()) ++unknown;
  }
  return std::string(svg::colour::kInk);
}

std::string words_of(std::string_view pass) {
  const auto* look =
      std::find_if(kLooks.begin(), kLooks.end(), [&](const Look& l) { return l.pass == pass; });
  return std::string(look != kLooks.end() ? look->words : pass);
}

/// Stages of every rank in model order: the later ones are drawn lighter.
std::vector<std::vector<int>> stages_by_rank(const sim::Program& program) {
  std::vector<std::vector<int>> stages;
  for (const auto& order : program.order) {
    std::vector<int>& own = stages.emplace_back();
    for (const Action& action : order) own.push_back(action.stage);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return stages;
}

double shade_of(const std::vector<int>& stages, int stage) {
  if (stages.size() < 2) return 0;
  const auto at = std::find(stages.begin(), stages.end(), stage) - stages.begin();
  return 0.5 * static_cast<double>(at) / static_cast<double>(stages.size() - 1);
}

/// All boxes of one colour are one path, all labels on them one group: pictures stay small.
struct Layer {
  std::string path;
  std::vector<svg::Label> labels;
};

std::map<std::string, Layer> layers_of(const ScheduleSample& s, double scale) {
  std::map<std::string, Layer> layers;
  const auto stages = stages_by_rank(s.program);
  for (TaskId t = 0; t < s.graph.tasks.size(); ++t) {
    const Task& task = s.graph.tasks[t];
    const double seconds = s.timeline.finish[t] - s.timeline.start[t];
    if (task.kind != TaskKind::Action) continue;
    const Action& action = s.program.order[task.lane][task.origin];
    Layer& layer = layers[svg::mix(fill_of(s.program, action.pass), svg::colour::kPaper,
                                   shade_of(stages[task.lane], action.stage))];
    const double x = kLeft + s.timeline.start[t] * scale;
    const double y = kTop + static_cast<double>(task.lane) * (kBar + kGap);
    // What takes no time, an update, is a mark.
    const bool mark = seconds <= 0;
    const std::string width = svg::number(mark ? 3 : seconds * scale - 0.8);
    layer.path += "M" + svg::number(mark ? x - 1.5 : x) + " " + svg::number(mark ? y - 2 : y) +
                  "h" + width + "v" + svg::number(mark ? kBar + 4 : kBar) + "h-" + width + "z";
    if (mark) continue;
    const std::string label = std::to_string(action.microbatch);
    if (svg::text_width(label, 11) < seconds * scale)
      layer.labels.push_back({x + seconds * scale / 2 - 0.4, y + kBar / 2 + 4, label});
  }
  return layers;
}

void draw_frame(svg::Picture& picture, const sim::Schedule& schedule, const ScheduleSample& s,
                double scale) {
  const ScheduleFigures f = figures(s);
  picture.text(12, 22, schedule.name, {.size = 15, .bold = true});
  picture.text(12 + svg::text_width(schedule.name, 18) + 12, 22,
               to_text(s.shape) + ": idle " + base::format_percent(f.bubble()) +
                   " of the makespan, " + base::format_percent(f.longest_bubble()) +
                   " of the longest stage",
               {.size = 12, .fill = svg::colour::kGrey});
  picture.text(kWidth - kRight + 8, kTop - 8, "stores", {.size = 11, .fill = svg::colour::kGrey});
  for (std::size_t rank = 0; rank < f.peak.size(); ++rank) {
    const double y = kTop + static_cast<double>(rank) * (kBar + kGap);
    picture.rect(kLeft, y, f.makespan * scale, kBar, svg::colour::kLight);
    picture.text(12, y + kBar / 2 + 4, "rank " + std::to_string(rank), {.size = 11});
    picture.text(kWidth - kRight + 8, y + kBar / 2 + 4, base::format_fixed(f.peak[rank], 2),
                 {.size = 11});
  }
}

void draw_legend(svg::Picture& picture, const sim::Program& program) {
  double x = kLeft;
  for (std::size_t pass = 0; pass < program.passes.size(); ++pass) {
    const std::string words = words_of(program.passes[pass].name);
    picture.rect(x, 36, 12, 12, fill_of(program, pass));
    picture.text(x + 17, 46, words, {.size = 11});
    x += 17 + svg::text_width(words, 11) + 14;
  }
  const auto stages = stages_by_rank(program);
  const bool several = std::any_of(stages.begin(), stages.end(),
                                   [](const std::vector<int>& own) { return own.size() > 1; });
  if (several)
    picture.text(x, 46, "lighter: later stages of the rank",
                 {.size = 11, .fill = svg::colour::kGrey});
}

void draw_axis(svg::Picture& picture, double makespan, double scale, double bottom) {
  picture.line(kLeft, bottom, kLeft + makespan * scale, bottom, {.colour = svg::colour::kGrey});
  for (const double tick : svg::ticks(0, makespan, 10)) {
    const double x = kLeft + tick * scale;
    picture.line(x, bottom, x, bottom + 4, {.colour = svg::colour::kGrey});
    picture.text(x, bottom + 16, svg::tick_text(tick), {.size = 10, .anchor = svg::Anchor::Middle});
  }
  picture.text(kLeft + makespan * scale / 2, bottom + 32,
               "time; F, B and W of a rank take 1, numbers are microbatches",
               {.size = 11, .anchor = svg::Anchor::Middle});
}

}  // namespace

std::string schedule_svg(const sim::Schedule& schedule, const ScheduleSample& s) {
  const double makespan = std::max(s.timeline.makespan, 1e-12);
  const double scale = (kWidth - kLeft - kRight) / makespan;
  const double bottom = kTop + static_cast<double>(s.program.order.size()) * (kBar + kGap);
  svg::Picture picture(kWidth, bottom + kBottom, "Schedule " + std::string(schedule.name));
  draw_frame(picture, schedule, s, scale);
  draw_legend(picture, s.program);
  for (const auto& [fill, layer] : layers_of(s, scale)) {
    picture.path(layer.path, fill);
    picture.labels(layer.labels,
                   {.size = 11, .fill = svg::label_colour(fill), .anchor = svg::Anchor::Middle});
  }
  draw_axis(picture, makespan, scale, bottom);
  return picture.finish();
}

}  // namespace paceline::reports

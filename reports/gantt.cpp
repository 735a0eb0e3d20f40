// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "reports/schedule_sample.hpp"

namespace paceline::reports {
namespace {

using sim::Task;
using sim::TaskId;
using sim::TaskKind;

/// One action in whole columns.
struct Bar {
  std::size_t begin, end;
  std::string pass;
  int stage, microbatch;
};

/// Every action is as wide as the name of its pass, unless that makes more columns than this.
constexpr double kMostColumns = 160;

double columns_per_unit(const ScheduleSample& s) {
  double columns = 0;
  for (const Task& task : s.graph.tasks) {
    if (task.kind != TaskKind::Action || task.seconds <= 0) continue;
    const sim::Action& action = s.program.order[task.lane][task.origin];
    const auto letters = static_cast<double>(s.program.passes[action.pass].name.size());
    columns = std::max(columns, letters / task.seconds);
  }
  return std::min(columns, kMostColumns / s.timeline.makespan);
}

std::vector<std::vector<Bar>> bars_of(const ScheduleSample& s) {
  const double scale = columns_per_unit(s);
  std::vector<std::vector<Bar>> bars(s.program.order.size());
  for (TaskId t = 0; t < s.graph.tasks.size(); ++t) {
    const Task& task = s.graph.tasks[t];
    if (task.kind != TaskKind::Action) continue;
    const sim::Action& action = s.program.order[task.lane][task.origin];
    const auto column = [&](double time) {
      return static_cast<std::size_t>(std::lround(time * scale));
    };
    bars[task.lane].push_back({column(s.timeline.start[t]), column(s.timeline.finish[t]),
                               s.program.passes[action.pass].name, action.stage,
                               action.microbatch});
  }
  return bars;
}

char digit(int number) {
  if (number < 10) return static_cast<char>('0' + number);
  return number < 36 ? static_cast<char>('a' + number - 10) : '+';
}

/// SGR background of a pass.
std::string_view background(std::string_view pass) {
  if (pass == "F") return "\x1b[44;97m";
  if (pass == "B" || pass == "BW") return "\x1b[42;30m";
  if (pass == "W") return "\x1b[45;97m";
  if (pass == "R") return "\x1b[43;30m";
  if (pass == "U" || pass == "N") return "\x1b[41;97m";
  return "\x1b[46;30m";
}

/// One line: what `write` says of every bar, blanks or dots where the rank idles.
template <class Write>
std::string line(const std::vector<Bar>& bars, std::size_t width, char idle, bool colour,
                 Write write) {
  std::string text;
  std::size_t at = 0;
  for (const Bar& bar : bars) {
    if (bar.end <= bar.begin) continue;
    text.append(bar.begin - at, idle);
    std::string inside = write(bar);
    inside.resize(bar.end - bar.begin, ' ');
    if (colour) text += background(bar.pass);
    text += inside;
    if (colour) text += "\x1b[0m";
    at = bar.end;
  }
  text.append(width - at, idle);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text + "\n";
}

}  // namespace

std::string gantt_text(const ScheduleSample& s, bool colour) {
  std::size_t width = 0;
  std::vector<std::vector<Bar>> bars = bars_of(s);
  for (std::vector<Bar>& own : bars) {
    std::sort(own.begin(), own.end(), [](const Bar& a, const Bar& b) { return a.begin < b.begin; });
    for (const Bar& bar : own) width = std::max(width, bar.end);
  }
  std::string text;
  for (std::size_t rank = 0; rank < bars.size(); ++rank) {
    const std::vector<Bar>& own = bars[rank];
    const bool several = std::any_of(
        own.begin(), own.end(), [&](const Bar& bar) { return bar.stage != own.front().stage; });
    std::string name = "rank " + std::to_string(rank);
    name.resize(std::max<std::size_t>(name.size() + 1, 8), ' ');
    const std::string blank(name.size() - 1, ' ');
    text += name + "|" + line(own, width, '.', colour, [](const Bar& bar) {
              std::string pass = bar.pass;
              pass.resize(std::max(pass.size(), bar.end - bar.begin), pass.back());
              return pass;
            });
    if (several)
      text += blank + "s|" + line(own, width, ' ', colour, [](const Bar& bar) {
                return std::string(1, digit(bar.stage));
              });
    text += blank + "m|" + line(own, width, ' ', colour, [](const Bar& bar) {
              return std::string(1, digit(bar.microbatch));
            });
  }
  return text;
}

}  // namespace paceline::reports

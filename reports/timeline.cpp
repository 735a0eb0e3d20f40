// SPDX-License-Identifier: Apache-2.0
#include "reports/timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "reports/names.hpp"
#include "reports/outlook.hpp"
#include "reports/svg.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {

namespace {

using sim::Prediction;
using sim::Stream;
using sim::Task;
using sim::TaskKind;

constexpr double kLeft = 196, kRight = 24, kTop = 84, kBottom = 46;
constexpr double kBar = 22, kStrip = 5, kGap = 8;
constexpr double kPitch = kBar + 2 * kStrip + kGap;
constexpr double kSliver = 0.5;  ///< pixels: narrower tasks melt into their neighbour

/// What a colour stands for, in legend order.
enum Kind {
  Forward,
  InputGradient,
  WeightGradient,
  Backward,
  Recompute,
  Update,
  Other,
  Message,
  Collective,
  Copy,
  HostWork
};
constexpr int kKinds = 11;
struct Look {
  std::string_view name;
  std::string_view fill;
};
constexpr std::array<Look, kKinds> kLooks{{
    {"F forward", svg::colour::kBlue},
    {"B input gradient", svg::colour::kGreen},
    {"W weight gradient", svg::colour::kPurple},
    {"BW backward", svg::colour::kGreen},
    {"R recompute", svg::colour::kYellow},
    {"optimizer", svg::colour::kOrange},
    {"other", svg::colour::kInk},
    {"messages between stages", svg::colour::kGrey},
    {"collectives", svg::colour::kVermilion},
    {"copies", svg::colour::kSky},
    {"host", svg::colour::kInk},
}};

struct Box {
  double x = 0, end = 0;
  int row = 0;  ///< 0 compute, 1 messages, 2 collectives, copies and host
  Kind kind = Other;
  double shade = 0;
  std::string label, hover;
};

const sim::Action* action_of(const Prediction& prediction, const Task& task, std::size_t rank) {
  const auto& order = prediction.program.order;
  // The kernels an engine sees one by one belong to the action they are part of.
  const bool part = task.kind == TaskKind::Action || task.kind == TaskKind::Kernel;
  if (!part || rank >= order.size()) return nullptr;
  return task.origin < order[rank].size() ? &order[rank][task.origin] : nullptr;
}

Kind compute_kind(const Prediction& prediction, const Task& task, const sim::Action* action) {
  if (task.kind == TaskKind::Optimizer) return Update;
  if (task.kind == TaskKind::Host) return HostWork;
  // Blocking communication stands in the compute stream.
  if (task.kind == TaskKind::Message) return Message;
  if (task.kind == TaskKind::Collective) return Collective;
  if (action == nullptr || action->pass >= prediction.program.passes.size()) return Other;
  const std::string& pass = prediction.program.passes[action->pass].name;
  constexpr std::array<std::pair<std::string_view, Kind>, 7> kPasses{{{"F", Forward},
                                                                      {"B", InputGradient},
                                                                      {"W", WeightGradient},
                                                                      {"BW", Backward},
                                                                      {"R", Recompute},
                                                                      {"U", Update},
                                                                      {"N", Update}}};
  for (const auto& [name, kind] : kPasses) {
    if (pass == name) return kind;
  }
  return Other;
}

void place(Box& box, const Prediction& prediction, const Task& task, const sim::Action* action) {
  switch (task.stream) {
    case Stream::Compute:
      box.row = 0;
      box.kind = compute_kind(prediction, task, action);
      break;
    case Stream::PpDown:
    case Stream::PpUp:
    case Stream::PpAll:
      box.row = 1;
      box.kind = Message;
      break;
    case Stream::Tp:
    case Stream::Cp:
    case Stream::CpOuter:
    case Stream::Ep:
    case Stream::Dp:
      box.row = 2;
      box.kind = Collective;
      break;
    case Stream::CopyIn:
    case Stream::CopyOut:
      box.row = 2;
      box.kind = Copy;
      break;
    case Stream::Host:
    case Stream::None:
      box.row = 2;
      box.kind = HostWork;
      break;
  }
}

/// Later chunks of a rank are drawn lighter, so interleaving can be seen.
double chunk_shade(const Prediction& prediction, const sim::Action& action) {
  const auto ranks = static_cast<int>(prediction.program.order.size());
  const int chunks = ranks > 0 ? prediction.program.stages / ranks : 1;
  if (chunks < 2 || ranks == 0) return 0;
  return 0.55 * (action.stage / ranks) / (chunks - 1);
}

/// Tasks of one lane as boxes; slivers of less than half a pixel join the box before them, so a
/// picture stays small however many tasks there are.
std::vector<Box> boxes_of(const Prediction& prediction, std::size_t lane,
                          const std::vector<std::size_t>& tasks, double scale) {
  const auto rank = static_cast<std::size_t>(describe_lane(prediction, lane).pipeline_rank);
  std::vector<Box> out;
  std::array<std::ptrdiff_t, 3> last{-1, -1, -1};
  for (const std::size_t t : tasks) {
    const Task& task = prediction.graph.tasks[t];
    const sim::Action* action = action_of(prediction, task, rank);
    Box box;
    place(box, prediction, task, action);
    const double seconds = prediction.timeline.finish[t] - prediction.timeline.start[t];
    box.x = kLeft + prediction.timeline.start[t] * scale;
    box.end = box.x + seconds * scale;
    auto& previous = last[static_cast<std::size_t>(box.row)];
    if (previous >= 0) {
      Box& before = out[static_cast<std::size_t>(previous)];
      if (box.end - before.x < kSliver ||
          (box.end - box.x < kSliver && box.x - before.end < kSliver)) {
        before.end = std::max(before.end, box.end);
        continue;
      }
    }
    if (action != nullptr) {
      box.shade = chunk_shade(prediction, *action);
      box.label = std::to_string(action->microbatch);
    }
    if (box.end - box.x > 2) {
      box.hover = sim::task_label(prediction, static_cast<sim::TaskId>(t)) + ", " +
                  base::format_seconds(base::Seconds(seconds));
    }
    previous = static_cast<std::ptrdiff_t>(out.size());
    out.push_back(box);
  }
  return out;
}

/// Shown tasks of every lane in time order.
std::vector<std::vector<std::size_t>> tasks_by_lane(const Prediction& prediction) {
  const auto& graph = prediction.graph;
  std::vector<std::vector<std::size_t>> out(graph.lanes.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const bool visible = graph.tasks[t].stream != Stream::None &&
                         prediction.timeline.finish[t] > prediction.timeline.start[t];
    if (visible) out[graph.tasks[t].lane].push_back(t);
  }
  for (auto& tasks : out) {
    std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) {
      return prediction.timeline.start[a] < prediction.timeline.start[b];
    });
  }
  return out;
}

std::vector<std::size_t> chosen_lanes(std::size_t lanes) {
  std::vector<std::size_t> out;
  const std::size_t rows = std::min(lanes, kPictureRows);
  for (std::size_t i = 0; i < rows; ++i) {
    out.push_back(rows == 1 ? 0 : i * (lanes - 1) / (rows - 1));
  }
  return out;
}

void draw_lane(svg::Picture& picture, const std::vector<Box>& boxes, double top) {
  for (const Box& box : boxes) {
    const double y = box.row == 0 ? top : top + kBar + (box.row - 1) * kStrip + 1;
    const double height = box.row == 0 ? kBar : kStrip - 1;
    const std::string fill = svg::mix(kLooks[box.kind].fill, svg::colour::kPaper, box.shade);
    const double width = std::max(box.end - box.x, 0.3);
    // A hair of ground between neighbours that are wide enough to be told apart.
    picture.rect(box.x, y, width > 3 ? width - 0.6 : width, height, fill, box.hover);
    if (box.row == 0 && !box.label.empty() && width > svg::text_width(box.label, 10) + 3) {
      picture.text(box.x + width / 2, y + kBar / 2 + 3.5, box.label,
                   {.size = 10, .fill = svg::label_colour(fill), .anchor = svg::Anchor::Middle});
    }
  }
}

void draw_legend(svg::Picture& picture, const std::array<bool, kKinds>& used) {
  double x = kLeft;
  const auto entry = [&](std::string_view name, std::string_view fill) {
    picture.rect(x, 58, 12, 12, fill);
    picture.text(x + 17, 68, name, {.size = 11});
    x += 17 + svg::text_width(name, 11) + 16;
  };
  for (int k = 0; k < kKinds; ++k) {
    if (used[static_cast<std::size_t>(k)])
      entry(kLooks[static_cast<std::size_t>(k)].name, kLooks[static_cast<std::size_t>(k)].fill);
  }
  entry("idle", svg::colour::kLight);
}

void draw_axis(svg::Picture& picture, double makespan, double scale, double bottom) {
  // One unit for the whole axis.
  const double unit = makespan >= 1 ? 1 : makespan >= 1e-3 ? 1e-3 : 1e-6;
  const std::string_view name = makespan >= 1 ? "s" : makespan >= 1e-3 ? "ms" : "us";
  picture.line(kLeft, bottom, kLeft + makespan * scale, bottom, {.colour = svg::colour::kGrey});
  for (const double tick : svg::ticks(0, makespan / unit, 10)) {
    const double x = kLeft + tick * unit * scale;
    picture.line(x, bottom, x, bottom + 5, {.colour = svg::colour::kGrey});
    picture.text(x, bottom + 18, svg::tick_text(tick), {.size = 11, .anchor = svg::Anchor::Middle});
  }
  picture.text(kLeft + makespan * scale / 2, bottom + 36, "time in the step, " + std::string(name),
               {.size = 11, .anchor = svg::Anchor::Middle});
}

void draw_title(svg::Picture& picture, const Answer& answer, std::size_t rows, std::size_t lanes) {
  const sim::Result& r = answer.result;
  picture.text(16, 24, printable(answer.scenario), {.size = 16, .bold = true});
  std::string line = "step " + base::format_seconds(base::Seconds(r.step_time)) + ", MFU " +
                     base::format_percent(r.mfu) + ", idle compute " +
                     base::format_percent(r.bubble_makespan) + "; " + answer.schedule.name +
                     ", scenario " + answer.hash;
  if (rows < lanes) {
    line += "; " + std::to_string(rows) + " of " + std::to_string(lanes) + " rank classes";
  }
  picture.text(16, 44, line, {.size = 12, .fill = svg::colour::kGrey});
}

}  // namespace

std::string timeline_svg(const Answer& answer, const Prediction& prediction, double width) {
  const auto lanes = chosen_lanes(prediction.graph.lanes.size());
  const auto tasks = tasks_by_lane(prediction);
  const double makespan = std::max(prediction.timeline.makespan, 1e-12);
  const double scale = (width - kLeft - kRight) / makespan;
  const double bottom = kTop + kPitch * static_cast<double>(lanes.size());
  const bool run = answer.result.outlook && !answer.result.outlook->sample.empty();
  svg::Picture picture(width, bottom + kBottom + (run ? kRunStrip : 0),
                       "Timeline of " + answer.scenario);
  draw_title(picture, answer, lanes.size(), prediction.graph.lanes.size());
  std::array<bool, kKinds> used{};
  double top = kTop;
  for (const std::size_t lane : lanes) {
    const RankClass who = describe_lane(prediction, lane);
    picture.text(16, top + 12, cut(who.ranks, 24), {.size = 11});
    std::string what = to_text(who).substr(who.ranks.size());
    if (what.starts_with(", ")) what.erase(0, 2);
    picture.text(16, top + 25, cut(what, 34), {.size = 10, .fill = svg::colour::kGrey});
    picture.rect(kLeft, top, makespan * scale, kBar, svg::colour::kLight);
    const auto boxes = boxes_of(prediction, lane, tasks[lane], scale);
    for (const Box& box : boxes) used[box.kind] = true;
    draw_lane(picture, boxes, top);
    top += kPitch;
  }
  draw_legend(picture, used);
  draw_axis(picture, makespan, scale, bottom);
  if (run)
    draw_run(picture, *answer.result.outlook, kLeft, bottom + kBottom, width - kLeft - kRight);
  return picture.finish();
}

}  // namespace paceline::reports

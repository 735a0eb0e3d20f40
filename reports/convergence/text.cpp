// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reports/convergence/report.hpp"

namespace paceline::reports {
namespace {

using namespace sim::convergence;

/// Three digits, "diverged" for infinity.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return "diverged";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string range_text(const Spread& s) {
  return three_digits(s.low) + " to " + three_digits(s.high);
}

std::vector<double> losses_of(const CellResult& cell) {
  std::vector<double> losses;
  for (const Run& run : cell.runs) losses.push_back(final_loss(run));
  return losses;
}

/// What deserves a word beside the numbers of a row.
std::string cell_notes(const ConvergenceReport& report, std::size_t c) {
  const CellResult& cell = report.result.cells[c];
  const Clock& clock = report.study.clocks[report.study.cells[c].method];
  std::string notes;
  const auto add = [&](const std::string& note) { notes += (notes.empty() ? "" : ", ") + note; };
  if (clock.step_seconds > 0 && !cell.runs.front().curve.empty()) {
    const Run& run = cell.runs.front();
    const double seconds = seconds_at(clock, run, run.curve.back());
    add(base::format_seconds(base::Seconds(seconds)));
    if (clock.price_per_second > 0) add("costs " + three_digits(seconds * clock.price_per_second));
    if (run.curve.back().bytes > 0)
      add(base::format_bytes(base::Bytes(run.curve.back().bytes * clock.bytes_scale)) + " sent");
  }
  for (std::size_t i = 0; i < cell.runs.size(); ++i) {
    if (!cell.runs[i].diverged) continue;
    add("seed " + std::to_string(report.study.seeds[cell.seeds[i]]) + " diverged at step " +
        std::to_string(*cell.runs[i].diverged));
    break;
  }
  if (cell.at_edge) add("rate at the edge of its grid");
  return notes;
}

std::string cells_text(const ConvergenceReport& report) {
  int width = 12;
  for (const Cell& cell : report.study.cells) width = std::max(width, columns(cell.name));
  std::string text = "\n" + pad_right("trained", width) + pad_left("rate", 11) +
                     pad_left("loss", 10) + "  over seeds\n";
  for (std::size_t c = 0; c < report.study.cells.size(); ++c) {
    const CellResult& cell = report.result.cells[c];
    text += pad_right(printable(report.study.cells[c].name), width);
    if (cell.runs.empty()) {
      text += "  did not run\n";
      continue;
    }
    const Spread s = spread_of(losses_of(cell));
    const std::string notes = cell_notes(report, c);
    text += pad_left(three_digits(cell.rate), 11) + pad_left(three_digits(s.median), 10) + "  " +
            (notes.empty() ? range_text(s) : pad_right(range_text(s), 22) + "  " + notes) + "\n";
  }
  return text;
}

/// Figures of all seeds by name, in the order of the first seed that has any.
std::vector<std::pair<std::string, Spread>> spreads_of(const std::vector<Figures>& by_seed) {
  std::vector<std::pair<std::string, std::vector<double>>> values;
  for (const Figures& figures : by_seed) {
    for (const auto& [name, value] : figures) {
      auto at = std::find_if(values.begin(), values.end(),
                             [&](const auto& v) { return v.first == name; });
      if (at == values.end()) at = values.insert(values.end(), {name, {}});
      at->second.push_back(value);
    }
  }
  std::vector<std::pair<std::string, Spread>> spreads;
  for (auto& [name, all] : values) spreads.emplace_back(name, spread_of(std::move(all)));
  return spreads;
}

std::string figures_block(const std::string& title, const std::vector<Figures>& by_seed) {
  const auto spreads = spreads_of(by_seed);
  if (spreads.empty()) return "\n" + title + ": did not run\n";
  std::string text = "\n" + title + "\n";
  for (const auto& [name, s] : spreads)
    text += "  " + pad_right(name, 20) + pad_left(three_digits(s.median), 10) + "  " +
            range_text(s) + "\n";
  return text;
}

/// Accuracy and the like, where a cell has any: one line per cell.
std::string extras_text(const ConvergenceReport& report) {
  std::string text;
  for (std::size_t c = 0; c < report.study.cells.size(); ++c) {
    std::vector<Figures> by_seed;
    for (const Run& run : report.result.cells[c].runs) by_seed.push_back(run.extra);
    std::string line;
    for (const auto& [name, s] : spreads_of(by_seed))
      line += (line.empty() ? "" : ", ") + name + " " + three_digits(s.median);
    if (!line.empty()) text += "  " + printable(report.study.cells[c].name) + ": " + line + "\n";
  }
  return text.empty() ? "" : "\nfigures (medians)\n" + text;
}

std::string bound_text(const Expectation& e) {
  std::string text;
  if (e.least) text += "at least " + three_digits(*e.least);
  if (e.most) text += (text.empty() ? "" : ", ") + ("at most " + three_digits(*e.most));
  if (e.seeds > 0) text += ", in " + std::to_string(e.seeds) + " seeds";
  return text;
}

std::string expectations_text(const ConvergenceReport& report) {
  if (report.study.expectations.empty()) return "";
  std::string text = "\nexpected\n";
  for (std::size_t i = 0; i < report.study.expectations.size(); ++i) {
    const Expectation& e = report.study.expectations[i];
    const ExpectationResult& r = report.result.expectations[i];
    const char* verdict = !r.evaluated ? "not run" : (r.holds ? "holds" : "DOES NOT HOLD");
    text += "  " + std::string(verdict) + ": " + printable(e.that.text);
    if (r.evaluated) {
      text += " = " + three_digits(r.spread.median) + " (" + range_text(r.spread) + "), " +
              bound_text(e) + "; " + std::to_string(r.held) + " of " +
              std::to_string(r.values.size()) + " seeds";
    }
    text += "\n";
    if (!e.says.empty()) text += "    " + printable(e.says) + "\n";
  }
  return text;
}

}  // namespace

bool all_hold(const ConvergenceReport& report) {
  return std::all_of(report.result.expectations.begin(), report.result.expectations.end(),
                     [](const ExpectationResult& r) { return r.holds; });
}

std::string convergence_text(const ConvergenceReport& report) {
  const Study& study = report.study;
  std::string text = printable(study.name) + ": " + std::to_string(study.seeds.size()) +
                     " seeds from " + std::to_string(study.seeds.front());
  if (report.result.interrupted) text += ", INTERRUPTED: what was finished";
  text += "\n";
  for (const std::string& line : wrap(printable(study.note), 98)) text += "  " + line + "\n";
  if (!study.cells.empty()) text += cells_text(report) + extras_text(report);
  for (std::size_t e = 0; e < study.experiments.size(); ++e)
    text += figures_block(printable(study.experiments[e].name), report.result.experiments[e]);
  text += expectations_text(report);
  text += "\npaceline " + report.version + ", study " + study.hash + "\n" + report.command + "\n";
  return text;
}

}  // namespace paceline::reports

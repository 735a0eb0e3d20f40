// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "reports/jobs/report.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {
namespace {

using models::JobsFile;
using sim::jobs::JobFigures;
using sim::jobs::JobsSpread;
using sim::jobs::JobsVerdict;

// Places in models::kJobFigures.
constexpr std::size_t kJct = 0, kQueue = 2, kCost = 4, kUse = 6;

/// Three digits.
std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// "35 min", "2.1 h", "11.4 d": three digits at most.
std::string duration(double seconds) {
  if (seconds < 120) return digits(seconds) + " s";
  if (seconds < 120 * 60.0) return digits(seconds / 60) + " min";
  if (seconds < 72 * 3600.0) return digits(seconds / 3600) + " h";
  return digits(seconds / 86400) + " d";
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string dollars(double value) {
  return value >= 1000 ? base::format_count(value) : digits(value);
}

/// Median over instances of a figure of a policy, or of its ratio to the first policy.
std::optional<JobsSpread> spread(const JobsReport& report, std::size_t policy, std::size_t figure,
                                 bool ratio) {
  std::vector<double> values;
  for (const auto& row : report.result.variants.front().figures) {
    if (!row[policy] || (ratio && !row[0])) continue;
    const double value = (*row[policy])[figure];
    if (ratio && !((*row[0])[figure] > 0)) continue;
    values.push_back(ratio ? value / (*row[0])[figure] : value);
  }
  if (values.empty()) return std::nullopt;
  return sim::jobs::jobs_spread(std::move(values));
}

/// Why a job of the first instance does not end.
std::string why_never(const JobsReport& report, const sim::jobs::JobsOutcome& outcome,
                      std::size_t j) {
  const auto& instance = report.result.instance;
  const models::JobKind& kind = report.study.base().kinds[instance.jobs[j].kind];
  int largest = 0, all = 0;
  for (const models::JobRegion& region : instance.regions) {
    largest = std::max(largest, region.devices);
    all += region.devices;
  }
  const std::string regions = "; the largest region has " + std::to_string(largest) +
                              ", all together " + std::to_string(all);
  int least = outcome.least_devices[j];
  if (least == 0 && kind.least * kind.unit <= all)
    return "fits into memory on no number of stages that the regions have" + regions;
  if (least == 0) least = kind.least * kind.unit;
  if (least > largest) return "needs at least " + std::to_string(least) + " devices" + regions;
  return "would start on " + std::to_string(least) + " devices but waits behind others" + regions;
}

/// A line for each policy under which a job of the first instance does not end: the first that
/// cannot start, if any, holds up the others.
std::string never_text(const JobsReport& report) {
  std::string text;
  const auto& jobs = report.result.instance.jobs;
  for (std::size_t p = 0; p < report.result.outcomes.size(); ++p) {
    const sim::jobs::JobsOutcome& outcome = report.result.outcomes[p];
    std::size_t worst = jobs.size();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto need = [&](std::size_t at) {
        const int least = outcome.least_devices[at];
        return least > 0 ? least : std::numeric_limits<int>::max();
      };
      if (!outcome.done[j] && (worst == jobs.size() || need(j) > need(worst))) worst = j;
    }
    if (worst == jobs.size()) continue;
    const std::string line = report.study.base().policies[p] + ": job " +
                             printable(jobs[worst].name) + " never ends: it " +
                             why_never(report, outcome, worst);
    for (const std::string& part : wrap(line, 78)) text += "  " + part + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string policies_text(const JobsReport& report) {
  const JobsFile& file = report.study.base();
  std::string text = "\n" + pad_right("policy", 19) + pad_left("JCT", 10) + pad_left("queued", 10) +
                     pad_left("cost USD", 10) + pad_left("used", 7) + "  JCT, cost over " +
                     file.policies[0] + "\n";
  for (std::size_t p = 0; p < file.policies.size(); ++p) {
    const auto jct = spread(report, p, kJct, false);
    text += pad_right(file.policies[p], 19);
    if (!jct) {
      text += "  a job never ends\n";
      continue;
    }
    text += " " + pad_left(duration(jct->median), 9);
    text += " " + pad_left(duration(spread(report, p, kQueue, false)->median), 9);
    text += " " + pad_left(dollars(spread(report, p, kCost, false)->median), 9);
    text += pad_left(base::format_fixed(100 * spread(report, p, kUse, false)->median, 0) + " %", 7);
    const auto jct_ratio = spread(report, p, kJct, true), cost = spread(report, p, kCost, true);
    text += pad_left(jct_ratio ? base::format_fixed(jct_ratio->median, 2) : "-", 8);
    text += pad_left(cost ? base::format_fixed(cost->median, 2) : "-", 8);
    const auto& rows = report.result.variants.front().figures;
    const auto lost = std::count_if(rows.begin(), rows.end(), [&](const auto& r) { return !r[p]; });
    if (lost > 0) text += "  (" + std::to_string(lost) + " instances with a job that never ends)";
    text += "\n";
  }
  return text;
}

/// Devices by region.
std::string path_text(const JobsReport& report, const sim::jobs::JobPath& path, int unit) {
  std::string text;
  for (const sim::jobs::PathPart& part : path)
    text += (text.empty() ? "" : ", ") + std::to_string(part.stages * unit) + " " +
            printable(report.result.instance.regions[part.region].name);
  return text;
}

std::string each_text(const JobsReport& report) {
  std::string text;
  const auto& jobs = report.result.instance.jobs;
  for (std::size_t p = 0; p < report.result.outcomes.size(); ++p) {
    text += "\n" + report.study.base().policies[p] + ", first instance\n";
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto& runs = report.result.outcomes[p].runs[j];
      const std::string name = pad_right(cut(printable(jobs[j].name), 22), 23);
      const int unit = report.study.base().kinds[jobs[j].kind].unit;
      if (runs.empty()) text += "  " + name + "never starts\n";
      for (const sim::jobs::JobRun& run : runs) {
        text += "  " + (&run == &runs.front() ? name : pad_right("  goes on", 23));
        text += pad_left(duration(run.start), 9) + pad_left(duration(run.finish - run.start), 9) +
                pad_left(dollars(run.cost.total()), 8) + "  " + path_text(report, run.path, unit) +
                "\n";
      }
    }
  }
  return text;
}

std::string range_of(const JobsSpread& s) {
  return base::format_fixed(s.median, 2) + " [" + base::format_fixed(s.low, 2) + ", " +
         base::format_fixed(s.high, 2) + "]";
}

/// What is compared, numbered: the file as it stands.
std::string comparisons_text(const JobsReport& report) {
  std::string text;
  for (std::size_t c = 0; c < report.study.compare.size(); ++c) {
    const models::JobsComparison& one = report.study.compare[c];
    const JobsVerdict& verdict = report.result.compared[0][c];
    text += pad_left(std::to_string(c + 1), 3) + " " + pad_right(cut(printable(one.name), 30), 31) +
            pad_right(verdict.values.empty() ? "nothing" : range_of(verdict.spread), 19);
    if (one.low)
      text += "  " + digits(*one.low) + " to " + digits(*one.high) + "  " +
              base::format_fixed(100 * verdict.inside, 0) + " %";
    if (one.published) text += "  " + digits(*one.published);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

/// Medians of comparisons `first` to `last` - 1: a row per variant.
std::string variants_text(const JobsReport& report, std::size_t first, std::size_t last) {
  const auto& variants = report.study.variants;
  std::string text = "\n" + pad_right("", 24);
  for (std::size_t c = first; c < last; ++c) text += pad_left(std::to_string(c + 1), 6) + " ";
  text.back() = '\n';
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const std::string name = v == 0 ? "as the file says" : printable(variants[v].name);
    text += pad_right(cut(name, 23), 24);
    for (std::size_t c = first; c < last; ++c) {
      const models::JobsComparison& one = report.study.compare[c];
      const JobsVerdict& verdict = report.result.compared[v][c];
      const double median = verdict.spread.median;
      const bool inside = one.low && median >= *one.low && median <= *one.high;
      text +=
          verdict.values.empty() ? pad_left("-", 6) : pad_left(base::format_fixed(median, 2), 6);
      text += inside && !verdict.values.empty() ? "*" : " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string compared_text(const JobsReport& report) {
  constexpr std::size_t kColumns = 8;
  const std::size_t count = report.study.compare.size();
  if (count == 0) return "";
  std::string text = "\ncompared" + pad_right("", 27) + "median [tenths]      published\n";
  text += comparisons_text(report);
  for (std::size_t c = 0; c < count; c += kColumns)
    text += variants_text(report, c, std::min(c + kColumns, count));
  return text + "* inside the published range\n";
}

std::string expected_text(const JobsReport& report) {
  if (report.study.expect.empty()) return "";
  std::string text = "\nexpected\n";
  for (std::size_t e = 0; e < report.study.expect.size(); ++e) {
    const models::JobsExpectation& one = report.study.expect[e];
    const JobsVerdict& verdict = report.result.expected[e];
    text += "  " + std::string(verdict.holds ? "holds: " : "DOES NOT HOLD: ") + one.text + " = " +
            (verdict.values.empty() ? "nothing" : range_of(verdict.spread));
    if (one.least) text += ", at least " + digits(*one.least);
    if (one.most) text += ", at most " + digits(*one.most);
    text += one.variant.empty() ? "\n" : " (" + printable(one.variant) + ")\n";
    if (!one.says.empty()) text += "    " + printable(one.says) + "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> jobs_assumptions(const JobsReport& report) {
  const JobsFile& file = report.study.base();
  std::vector<std::string> all = file.assumptions;
  const bool moves = file.queue.preempt || file.queue.resize;
  all.push_back(
      moves ? "a job stops between two microbatches, and loses no step"
            : "a job starts once, runs to its end on what it got, and takes no time to start");
  all.push_back("devices that no job holds cost nothing");
  if (std::any_of(file.regions.begin(), file.regions.end(),
                  [](const auto& region) { return region.device_hour > 0; }))
    all.push_back("rented devices cost their rent, with electricity in it; owned ones electricity");
  const bool coarse = std::any_of(file.kinds.begin(), file.kinds.end(),
                                  [](const auto& kind) { return !kind.scenario; });
  if (coarse)
    all.push_back("stages do forwards and backwards alone: updates of weights take no time");
  return all;
}

std::string jobs_text(const JobsReport& report, bool each) {
  const JobsFile& file = report.study.base();
  const auto& instance = report.result.instance;
  std::string text = printable(file.name) + ": " + std::to_string(instance.jobs.size()) +
                     " jobs, " + counted(file.regions.size(), "region");
  if (file.random.instances > 1)
    text += ", medians of " + std::to_string(file.random.instances) + " instances from seed " +
            std::to_string(file.random.seed);
  text += "\n";
  if (!file.note.empty())
    for (const std::string& line : wrap(printable(file.note), 78)) text += "  " + line + "\n";
  text += policies_text(report) + never_text(report);
  if (each) text += each_text(report);
  text += compared_text(report) + expected_text(report) + "\nassumed\n";
  for (const std::string& assumption : jobs_assumptions(report)) {
    const std::vector<std::string> lines = wrap(printable(assumption), 76);
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += (i == 0 ? "  - " : "    ") + lines[i] + "\n";
  }
  return text + "\npaceline " + report.version + ", file " + file.hash + "\n" + report.command +
         "\n";
}

}  // namespace paceline::reports

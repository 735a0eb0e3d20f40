// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/text.hpp"
#include "reports/answer.hpp"
#include "reports/sweep.hpp"

namespace paceline::reports {

namespace {

constexpr int kScreen = 80;
constexpr std::size_t kTableRows = 60;  ///< of more points only the front and the fastest
constexpr std::size_t kReasons = 8;     ///< different reasons and warnings listed, each
constexpr int kStep = 10, kTokens = 10, kMfu = 8, kMemory = 11, kStatus = 14;
constexpr int kNumbers = kStep + kTokens + kMfu + kMemory;

bool on_front(const SweepReport& report, const SweepRow& row) {
  return std::binary_search(report.pareto.begin(), report.pareto.end(), row.point);
}

/// "tp" of "parallel.tp", or the whole path where two end alike.
std::vector<std::string> axis_titles(const std::vector<std::string>& paths) {
  const auto last = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  std::vector<std::string> titles;
  for (const std::string& path : paths) {
    const auto alike = std::count_if(paths.begin(), paths.end(), [&](const std::string& other) {
      return last(other) == last(path);
    });
    titles.push_back(printable(alike == 1 ? last(path) : path));
  }
  return titles;
}

/// Columns of the axes with two spaces before each: what is shown, and where that is too much the
/// widest give way.
std::vector<int> axis_widths(const SweepReport& report, const std::vector<std::string>& titles) {
  constexpr int kRoom = kScreen - 2 - kNumbers - kStatus, kLeast = 7;
  std::vector<int> widths;
  for (std::size_t a = 0; a < titles.size(); ++a) {
    int width = columns(titles[a]);
    for (const SweepRow& row : report.rows) width = std::max(width, columns(row.values[a]));
    widths.push_back(width + 2);
  }
  while (std::accumulate(widths.begin(), widths.end(), 0) > kRoom) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) break;
    --*widest;
  }
  return widths;
}

/// "bad input: parallel.tp: ...": that the value was set goes without saying.
std::string status_text(const SweepRow& row) {
  constexpr std::string_view kSet = "--set: ";
  const std::string_view reason = row.reason;
  return std::string(to_text(row.status)) + ": " +
         printable(reason.substr(reason.starts_with(kSet) ? kSet.size() : 0));
}

std::string table_line(const SweepReport& report, const SweepRow& row,
                       const std::vector<int>& widths, const TextStyle& style) {
  const bool front = on_front(report, row);
  std::string line = front ? "* " : "  ";
  int used = 2;
  for (std::size_t a = 0; a < widths.size(); ++a) {
    const int width = widths[a] - 2;
    line += "  " + pad_left(cut(printable(row.values[a]), width), width);
    used += widths[a];
  }
  if (!row.computed()) {
    const std::string why = cut(status_text(row), std::max(kScreen - used - 2, 20));
    return line + "  " + paint(why, Ink::Yellow, style);
  }
  line += pad_left(base::format_seconds(base::Seconds(row.step_time)), kStep);
  line += pad_left(base::format_count(row.tokens_per_s), kTokens);
  line += pad_left(base::format_percent(row.mfu), kMfu);
  line += pad_left(base::format_bytes(base::Bytes(row.reserved_bytes)), kMemory);
  line = front ? paint(line, Ink::Bold, style) : line;
  const bool fits = row.status == PointStatus::Fits;
  return line + "  " + (fits ? "fits" : paint(to_text(row.status), Ink::Red, style));
}

const SweepRow* fastest(const SweepReport& report) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : report.rows) {
    if (row.status != PointStatus::Fits) continue;
    if (best == nullptr || row.step_time < best->step_time) best = &row;
  }
  return best;
}

/// All rows where they are few, else the front and then the fastest.
std::vector<const SweepRow*> shown_rows(const SweepReport& report) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : report.rows) rows.push_back(&row);
  if (rows.size() <= kTableRows) return rows;
  const auto rank = [&](const SweepRow* row) {
    return std::tuple{!on_front(report, *row), row->status, row->step_time, row->point};
  };
  std::sort(rows.begin(), rows.end(),
            [&](const SweepRow* a, const SweepRow* b) { return rank(a) < rank(b); });
  rows.resize(kTableRows);
  std::sort(rows.begin(), rows.end(),
            [](const SweepRow* a, const SweepRow* b) { return a->point < b->point; });
  return rows;
}

constexpr std::array<std::string_view, 2> kMany{"fit", "do not fit"};

std::string heading(const SweepReport& report, const TextStyle& style) {
  std::string counts;
  for (std::size_t s = 0; s < kPointStatuses; ++s) {
    const auto status = static_cast<PointStatus>(s);
    const auto count = std::count_if(report.rows.begin(), report.rows.end(),
                                     [&](const SweepRow& row) { return row.status == status; });
    if (count == 0) continue;
    const bool many = count > 1 && s < kMany.size();
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " +
              std::string(many ? kMany[s] : to_text(status));
  }
  std::string over;
  for (const std::string& path : report.header.paths) {
    over += (over.empty() ? "" : ", ") + printable(path);
  }
  std::string out = paint(cut(printable(report.header.scenario), kScreen), Ink::Bold, style) + "\n";
  const std::size_t points = report.rows.size();
  for (const std::string& line :
       wrap(std::to_string(points) + (points == 1 ? " point" : " points") + " over " + over + ": " +
                counts,
            kScreen)) {
    out += line + "\n";
  }
  return out + "\n";
}

/// "  12 x TEXT", the most frequent first.
std::string counted(const std::map<std::string, std::size_t>& texts, const std::string& title) {
  std::vector<std::pair<std::string, std::size_t>> order(texts.begin(), texts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = order.empty() ? "" : "\n" + title + "\n";
  for (std::size_t i = 0; i < std::min(order.size(), kReasons); ++i) {
    std::string indent = "  " + std::to_string(order[i].second) + " x ";
    for (const std::string& line : wrap(printable(order[i].first), kScreen - columns(indent))) {
      out += indent + line + "\n";
      indent.assign(static_cast<std::size_t>(columns(indent)), ' ');
    }
  }
  if (order.size() > kReasons) out += "  " + std::to_string(order.size() - kReasons) + " more\n";
  return out;
}

std::string notes(const SweepReport& report) {
  std::map<std::string, std::size_t> reasons, warnings;
  for (const SweepRow& row : report.rows) {
    if (!row.computed()) ++reasons[status_text(row)];
    for (const std::string& warning : row.warnings) ++warnings[warning];
  }
  return counted(reasons, "Not computed") + counted(warnings, "Warnings");
}

std::string settings(const SweepReport& report, const SweepRow& row) {
  std::string out;
  for (std::size_t a = 0; a < row.values.size(); ++a) {
    out += " --set " + shell_word(printable(report.header.paths[a] + "=" + row.values[a]));
  }
  return out.substr(1);
}

/// "time and memory", "time, cost and energy".
std::string front_words(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

std::string footer(const SweepReport& report) {
  const SweepHeader& header = report.header;
  std::string out;
  if (const SweepRow* best = fastest(report)) {
    out += "* on the front of " + front_words(header.pareto_of) +
           ": nothing that fits beats it\n\nfastest   ";
    out += settings(report, *best) + "\n";
  }
  std::string profiles;
  for (const std::string& name : header.profiles) {
    profiles += (profiles.empty() ? "" : " ") + name;
  }
  out += "scenario  " + header.hash + ", stack " +
         (header.stack.empty() ? "as varied" : printable(header.stack)) + ", profile " +
         (profiles.empty() ? "as varied" : printable(profiles)) + "\n";
  out += "engine    " + header.engine + (header.fidelity.empty() ? "" : ", " + header.fidelity) +
         ", paceline " + header.version + "\n";
  return out + "command   " + printable(header.command) + "\n";
}

}  // namespace

std::string sweep_text(const SweepReport& report, const TextStyle& style) {
  const std::vector<std::string> titles = axis_titles(report.header.paths);
  const std::vector<int> widths = axis_widths(report, titles);
  std::string head = "  ";
  for (std::size_t a = 0; a < titles.size(); ++a) {
    const int width = widths[a] - 2;
    head += "  " + pad_left(cut(titles[a], width), width);
  }
  head += pad_left("step", kStep) + pad_left("tokens/s", kTokens) + pad_left("MFU", kMfu) +
          pad_left("memory", kMemory) + "  status";
  std::string out = heading(report, style) + paint(head, Ink::Dim, style) + "\n";
  const std::vector<const SweepRow*> rows = shown_rows(report);
  for (const SweepRow* row : rows) out += table_line(report, *row, widths, style) + "\n";
  if (rows.size() < report.rows.size()) {
    out += "  the front and the fastest of them; --out FILE.csv has all " +
           std::to_string(report.rows.size()) + "\n";
  }
  return out + notes(report) + "\n" + footer(report);
}

}  // namespace paceline::reports

// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/config.hpp"
#include "base/message.hpp"
#include "models/scenario/csv.hpp"
#include "models/scenario/scenario_folders.hpp"

namespace paceline::reports {
namespace {

namespace fs = std::filesystem;
using models::Cell;
using models::ErrorMetric;
using models::Table;

constexpr std::array<std::string_view, 5> kQuantities{
    "makespan", "longest_stage", "bubble_rate", "longest_stage_bubble_rate", "peak_activations"};
constexpr std::array<std::string_view, 10> kColumns{
    "schedule",        "ranks", "microbatches", "forward", "input_gradient",
    "weight_gradient", "hop",   "quantity",     "listed",  "note"};

constexpr std::array<std::string_view, 2> kOptional{"activation", "freed_by_input"};

/// The cells of one row by column.
class TableRow {
 public:
  TableRow(const Table& table, const std::vector<Cell>& cells) : table_(&table), cells_(&cells) {}

  const Cell& at(std::string_view column) const {
    return (*cells_)[static_cast<std::size_t>(table_->find(column))];
  }
  std::string where(std::string_view column) const {
    return table_->where(at(column)) + ": " + std::string(column);
  }
  double number(std::string_view column, std::string_view text, double low) const {
    char* end = nullptr;
    const std::string copy(text);
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0' || !std::isfinite(value) || value < low)
      throw base::Error(where(column), base::quote(text) + " is no number from " +
                                           std::to_string(static_cast<int>(low)));
    return value;
  }
  double number(std::string_view column, double low = 0) const {
    return number(column, at(column).text, low);
  }
  /// 0 where the table has no such column.
  base::Bytes bytes(std::string_view column) const {
    return base::Bytes(table_->find(column) < 0 ? 0 : number(column));
  }
  int count(std::string_view column) const {
    return static_cast<int>(base::parse_integer(at(column).text, where(column), 1, 1'000'000));
  }
  /// One time per stage.
  std::vector<double> times(std::string_view column, int stages, int chunks) const {
    const std::string_view text = at(column).text;
    std::vector<double> values;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      values.push_back(number(column, text.substr(begin, end - begin), 0));
      begin = end + 1;
    }
    if (values.size() == 1)
      return std::vector<double>(static_cast<std::size_t>(stages), values.front() / chunks);
    if (values.size() != static_cast<std::size_t>(stages))
      throw base::Error(where(column), std::to_string(values.size()) + " times",
                        "one, or one for each of the " + std::to_string(stages) + " stages");
    return values;
  }

 private:
  const Table* table_;
  const std::vector<Cell>* cells_;
};

models::ScheduleChoice read_choice(const TableRow& row) {
  const std::string& text = row.at("schedule").text;
  const std::string where = row.where("schedule");
  try {
    const base::Document document = base::parse_yaml("schedule: " + text, "cell");
    return models::read_schedule(document, base::find_path(document.root, "schedule"));
  } catch (const base::Error& error) {
    throw base::Error(where, error.what());
  }
}

ScheduleRow read_row(const TableRow& cells) {
  ScheduleRow row;
  row.where = cells.where("schedule");
  row.schedule = read_choice(cells);
  row.ranks = cells.count("ranks");
  row.microbatches = cells.count("microbatches");
  row.id = row.schedule.name + " p" + std::to_string(row.ranks);
  if (row.schedule.chunks > 1) row.id += " v" + std::to_string(row.schedule.chunks);
  row.id += " m" + std::to_string(row.microbatches);
  const int stages = row.ranks * row.schedule.chunks;
  const auto column = [&](const char* name) {
    return cells.times(name, stages, row.schedule.chunks);
  };
  const std::vector<double> f = column("forward"), b = column("input_gradient"),
                            w = column("weight_gradient");
  for (std::size_t s = 0; s < f.size(); ++s)
    row.times.stages.push_back({base::Seconds(f[s]), base::Seconds(b[s]), base::Seconds(w[s]),
                                cells.bytes("activation"), cells.bytes("freed_by_input")});
  row.times.hop = base::Seconds(cells.number("hop"));
  row.quantity = cells.at("quantity").text;
  if (std::find(kQuantities.begin(), kQuantities.end(), row.quantity) == kQuantities.end()) {
    const std::vector<std::string> names(kQuantities.begin(), kQuantities.end());
    throw base::Error(cells.where("quantity"), "unknown quantity " + base::quote(row.quantity),
                      base::suggest(row.quantity, names, "one of"));
  }
  row.listed = cells.number("listed");
  row.note = cells.at("note").text;
  return row;
}

void check_columns(const Table& table) {
  for (const std::string_view name : kColumns) {
    if (table.find(name) < 0)
      throw base::Error(table.file + ":1:1", "column " + std::string(name) + " is missing");
  }
  for (const Cell& cell : table.header) {
    if (std::find(kColumns.begin(), kColumns.end(), cell.text) == kColumns.end() &&
        std::find(kOptional.begin(), kOptional.end(), cell.text) == kOptional.end())
      throw base::Error(table.where(cell), "unknown column " + base::quote(cell.text));
  }
}

}  // namespace

ScheduleTable read_schedule_table(const std::string& path) {
  constexpr std::array<base::Named<ErrorMetric>, 2> kMetrics{
      {{"absolute", ErrorMetric::Absolute}, {"relative", ErrorMetric::Relative}}};
  constexpr std::array<base::Named<bool>, 2> kRelations{{{"equal", false}, {"at-most", true}}};
  constexpr std::array<base::Named<bool>, 1> kUnits{{{"hops", true}}};
  const base::Document document = base::read_document(path);
  base::Fields fields(document, document.root);
  ScheduleTable result;
  result.name = fields.text("schedules");
  result.title = fields.text("title");
  result.source = fields.text("source");
  result.notes = fields.text_list("notes");
  result.metric = fields.choice<ErrorMetric>("metric", kMetrics);
  result.at_most = fields.choice<bool>("relation", kRelations, false);
  result.in_hops = fields.choice<bool>("unit", kUnits, false);
  result.bound = fields.number("bound", 0, 1e9);
  const fs::path file = fs::path(path).parent_path() / fields.text("table");
  fields.done();
  if (result.name != fs::path(path).stem().string())
    throw base::Error(fields.where("schedules"),
                      base::quote(result.name) + " is not the file's name");
  const Table table = models::parse_csv(base::read_file(file.string()), file.string());
  check_columns(table);
  for (const std::vector<Cell>& cells : table.rows)
    result.rows.push_back(read_row(TableRow(table, cells)));
  return result;
}

std::vector<std::string> schedule_table_files() {
  std::vector<std::string> files;
  for (const fs::path& folder : models::scenario_folders()) {
    std::error_code missing;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "schedules", missing)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    }
    if (!files.empty()) break;
  }
  if (files.empty())
    throw base::Error("schedules", "no tables in any of the scenario folders",
                      "set PACELINE_SCENARIOS to the folder that holds schedules/");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace paceline::reports

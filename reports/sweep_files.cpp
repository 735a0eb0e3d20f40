// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "base/message.hpp"
#include "reports/sweep.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;

constexpr double kMost = std::numeric_limits<double>::max();

void text_line(JsonWriter& json, std::string_view key, const std::vector<std::string>& items) {
  json.key(key).begin_array(true);
  for (const std::string& item : items) json.value(std::string_view(item));
  json.end_array();
}

void write_header(JsonWriter& json, const SweepHeader& header) {
  json.field("schema", kSweepSchema).field("version", std::string_view(header.version));
  json.field("command", std::string_view(header.command));
  json.key("scenario").begin_object();
  json.field("name", std::string_view(header.scenario));
  json.field("file", std::string_view(header.file)).field("hash", std::string_view(header.hash));
  json.field("stack", std::string_view(header.stack));
  text_line(json, "profiles", header.profiles);
  json.end_object().field("engine", std::string_view(header.engine));
  if (!header.fidelity.empty()) json.field("fidelity", std::string_view(header.fidelity));
  text_line(json, "paths", header.paths);
  json.field("points", static_cast<std::uint64_t>(header.points));
  json.key("pareto_of").begin_array(true);
  for (const std::string& name : header.pareto_of)
    for (const Objective& objective : objectives())
      if (objective.name == name) json.value(objective.key);
  json.end_array();
}

void write_row(JsonWriter& json, const SweepHeader& header, const SweepRow& row) {
  json.begin_object().field("point", static_cast<std::uint64_t>(row.point));
  json.key("set").begin_object();
  for (std::size_t p = 0; p < header.paths.size(); ++p) {
    json.field(header.paths[p], std::string_view(row.values[p]));
  }
  json.end_object().field("status", to_text(row.status));
  if (!row.reason.empty()) json.field("reason", std::string_view(row.reason));
  if (!row.hash.empty()) {
    json.field("hash", std::string_view(row.hash)).field("stack", std::string_view(row.stack));
    text_line(json, "profiles", row.profiles);
  }
  if (row.computed()) {
    json.field("devices", row.devices).field("step_time_s", row.step_time);
    json.field("tokens_per_s", row.tokens_per_s).field("mfu", row.mfu).field("hfu", row.hfu);
    json.field("reserved_bytes", row.reserved_bytes);
    json.field("capacity_bytes", row.capacity_bytes);
    json.field("traffic_bytes", row.traffic_bytes);
    if (row.step_j) json.field("step_j", *row.step_j);
    if (row.billion_tokens_usd) json.field("billion_tokens_usd", *row.billion_tokens_usd);
    if (row.run_s) json.field("run_s", *row.run_s);
    if (row.run_usd) json.field("run_usd", *row.run_usd);
    if (row.goodput) json.field("goodput", *row.goodput);
  }
  if (!row.warnings.empty()) text_line(json, "warnings", row.warnings);
  json.end_object();
}

void write_summary(JsonWriter& json, const SweepReport& report) {
  json.key("counts").begin_object();
  for (std::size_t s = 0; s < kPointStatuses; ++s) {
    const auto status = static_cast<PointStatus>(s);
    json.field(to_text(status), static_cast<std::uint64_t>(std::count_if(
                                    report.rows.begin(), report.rows.end(),
                                    [&](const SweepRow& row) { return row.status == status; })));
  }
  json.end_object().key("pareto").begin_array(true);
  for (const std::size_t point : report.pareto) json.value(static_cast<std::uint64_t>(point));
  json.end_array();
}

PointStatus read_status(base::Fields& fields) {
  std::array<base::Named<PointStatus>, kPointStatuses> names;
  for (std::size_t s = 0; s < kPointStatuses; ++s) {
    names[s] = {to_text(static_cast<PointStatus>(s)), static_cast<PointStatus>(s)};
  }
  return fields.choice<PointStatus>("status", names);
}

/// By the paths of the header; nothing when the row has others.
std::optional<std::vector<std::string>> read_values(base::Fields& row, const SweepHeader& header) {
  const base::Value& map = row.at("set");
  base::Fields set = row.map("set");
  std::vector<std::string> values;
  for (const std::string& path : header.paths) {
    if (set.find(path) == nullptr) return std::nullopt;
    values.push_back(set.text(path));
  }
  if (map.fields.size() != header.paths.size()) return std::nullopt;
  return values;
}

SweepRow read_numbers(base::Fields& fields) {
  SweepRow row;
  row.point = static_cast<std::size_t>(fields.integer("point", 0, models::kMaxSweepPoints - 1));
  row.status = read_status(fields);
  row.reason = fields.text("reason", "");
  row.hash = fields.text("hash", "");
  row.stack = fields.text("stack", "");
  row.profiles = fields.text_list("profiles");
  row.warnings = fields.text_list("warnings");
  if (row.computed()) {
    row.devices = static_cast<int>(fields.integer("devices", 1, 2'000'000'000));
    row.step_time = fields.number("step_time_s", 0, kMost);
    row.tokens_per_s = fields.number("tokens_per_s", 0, kMost);
    row.mfu = fields.number("mfu", 0, kMost);
    row.hfu = fields.number("hfu", 0, kMost);
    row.reserved_bytes = fields.number("reserved_bytes", 0, kMost);
    row.capacity_bytes = fields.number("capacity_bytes", 0, kMost);
    row.traffic_bytes = fields.number("traffic_bytes", 0, kMost);
    if (fields.has("step_j")) row.step_j = fields.number("step_j", 0, kMost);
    const auto optional = [&](const char* key, std::optional<double>& to) {
      if (fields.has(key)) to = fields.number(key, 0, kMost);
    };
    optional("billion_tokens_usd", row.billion_tokens_usd);
    optional("run_s", row.run_s);
    optional("run_usd", row.run_usd);
    optional("goodput", row.goodput);
  }
  return row;
}

std::optional<SweepRow> read_row(const base::Document& document, const SweepHeader& header) {
  base::Fields fields(document, document.root);
  const auto values = read_values(fields, header);
  SweepRow row = read_numbers(fields);
  fields.done();
  if (!values) return std::nullopt;
  row.values = *values;
  return row;
}

constexpr const char* kResumeHint = "--resume takes what --out FILE.jsonl wrote";

/// base::Error unless the file answers the same question.
void check_header(const base::Document& line, const SweepHeader& header) {
  base::Fields fields(line, line.root);
  fields.ignore_rest();
  const std::string where = base::place_text(line, line.root.place);
  const std::string schema = fields.text("schema", "");
  if (schema != kSweepSchema) throw base::Error(where, "no sweep of this version", kResumeHint);
  const auto same = [&](const char* what, const std::string& theirs, const std::string& ours) {
    if (theirs == ours) return;
    throw base::Error(where,
                      std::string("of another ") + what + ": " + base::quote(theirs) + ", now " +
                          base::quote(ours),
                      "start anew without --resume");
  };
  same("version", fields.text("version"), header.version);
  same("engine", fields.text("engine"), header.engine);
  same("fidelity", fields.text("fidelity", ""), header.fidelity);
  base::Fields scenario = fields.map("scenario");
  scenario.ignore_rest();
  same("scenario", scenario.text("hash"), header.hash);
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r#") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : " ") + item;
  return out;
}

constexpr std::string_view kCsvColumns =
    "status,pareto,step_time_s,tokens_per_s,mfu,hfu,reserved_bytes,capacity_bytes,"
    "traffic_bytes,step_j,billion_tokens_usd,run_s,run_usd,goodput,devices,scenario_hash,stack_"
    "name,profiles,reason";

std::string csv_line(const SweepRow& row, bool pareto) {
  std::string line = std::to_string(row.point);
  for (const std::string& value : row.values) line += "," + csv_cell(value);
  line += "," + std::string(to_text(row.status)) + (pareto ? ",1" : ",0");
  const std::array<std::optional<double>, 12> numbers{
      row.step_time,          row.tokens_per_s,   row.mfu,           row.hfu,
      row.reserved_bytes,     row.capacity_bytes, row.traffic_bytes, row.step_j,
      row.billion_tokens_usd, row.run_s,          row.run_usd,       row.goodput};
  for (const std::optional<double> number : numbers) {
    line += "," + (row.computed() && number ? base::shortest(*number) : std::string());
  }
  line += "," + (row.computed() ? std::to_string(row.devices) : std::string());
  for (const std::string& text : {row.hash, row.stack, joined(row.profiles), row.reason}) {
    line += "," + csv_cell(text);
  }
  return line + "\n";
}

}  // namespace

std::string sweep_header_line(const SweepHeader& header) {
  JsonWriter json(0);
  json.begin_object();
  write_header(json, header);
  json.end_object();
  return json.finish();
}

std::string sweep_row_line(const SweepHeader& header, const SweepRow& row) {
  JsonWriter json(0);
  write_row(json, header, row);
  return json.finish();
}

SweepRow read_sweep_row(std::string_view line, const std::string& where,
                        const SweepHeader& header) {
  const base::Document document = base::parse_json(line, where);
  std::optional<SweepRow> row = read_row(document, header);
  if (!row) throw base::Error(where, "a row of other paths");
  return std::move(*row);
}

std::vector<SweepRow> read_sweep_lines(std::string_view lines, const SweepHeader& header) {
  std::vector<SweepRow> rows;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    rows.push_back(read_sweep_row(lines.substr(0, end), "a process", header));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return rows;
}

std::string sweep_jsonl(const SweepReport& report) {
  std::string out = sweep_header_line(report.header);
  for (const SweepRow& row : report.rows) out += sweep_row_line(report.header, row);
  JsonWriter json(0);
  json.begin_object().field("complete", report.rows.size() == report.header.points);
  write_summary(json, report);
  json.end_object();
  return out + json.finish();
}

std::map<std::vector<std::string>, SweepRow> read_sweep_rows(const std::string& file,
                                                             const SweepHeader& header) {
  const std::string text = base::read_file(file, std::size_t{4} << 30);
  std::map<std::vector<std::string>, SweepRow> rows;
  bool first = true;
  base::read_json_lines(text, file, {}, [&](const base::Document& line) {
    if (std::exchange(first, false)) return check_header(line, header);
    if (base::find_path(line.root, "complete") != nullptr) return;
    std::optional<SweepRow> row = read_row(line, header);
    if (!row || row->status == PointStatus::Crashed) return;
    if (!rows.emplace(row->values, *row).second) {
      throw base::Error(base::place_text(line, line.root.place),
                        "a row for these values was there before", "remove one of them");
    }
  });
  if (first) throw base::Error(base::one_line(file), "no sweep of this version", kResumeHint);
  return rows;
}

std::string sweep_json(const SweepReport& report) {
  JsonWriter json;
  json.begin_object();
  write_header(json, report.header);
  write_summary(json, report);
  json.key("rows").begin_array();
  for (const SweepRow& row : report.rows) write_row(json, report.header, row);
  json.end_array().end_object();
  return json.finish();
}

std::string sweep_csv(const SweepReport& report) {
  const SweepHeader& header = report.header;
  std::string out = "# paceline " + header.version + ", " + std::string(kSweepSchema) + "\n";
  out += "# command: " + base::one_line(header.command, 100'000) + "\n";
  out += "# scenario: " + header.hash + ", stack: " + base::one_line(header.stack) +
         ", profiles: " + base::one_line(joined(header.profiles)) + ", engine: " + header.engine +
         (header.fidelity.empty() ? "" : " " + header.fidelity) + "\n";
  out += "point";
  for (const std::string& path : header.paths) out += "," + csv_cell(path);
  out += "," + std::string(kCsvColumns) + "\n";
  for (const SweepRow& row : report.rows) {
    out += csv_line(row, std::binary_search(report.pareto.begin(), report.pareto.end(), row.point));
  }
  return out;
}

}  // namespace paceline::reports

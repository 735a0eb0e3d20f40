// SPDX-License-Identifier: Apache-2.0
#include "reports/compare.hpp"

#include <algorithm>
#include <functional>

#include "base/json.hpp"
#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;
using Pick = std::function<double(const Answer&)>;

constexpr int kTitle = 22;          ///< columns of the row titles
constexpr int kValue = 11;          ///< of a value
constexpr int kRatio = 9;           ///< of a ratio
constexpr std::size_t kAcross = 4;  ///< answers beside the first in one table

class RowList {
 public:
  explicit RowList(std::span<const Answer> answers) : answers_(answers) {}
  void group(std::string name) { group_ = std::move(name); }
  void add(std::string key, std::string title, Unit unit, const Pick& pick) {
    Row row{std::move(key), std::move(title), group_, unit, {}};
    for (const Answer& answer : answers_) row.values.push_back(pick(answer));
    const bool any =
        std::any_of(row.values.begin(), row.values.end(), [](double v) { return v != 0; });
    if (any) rows_.push_back(std::move(row));
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  std::span<const Answer> answers_;
  std::string group_;
  std::vector<Row> rows_;
};

void add_speed(RowList& rows) {
  const auto result = [&](std::string key, std::string title, Unit unit, double sim::Result::*at) {
    rows.add(std::move(key), std::move(title), unit,
             [at](const Answer& a) { return a.result.*at; });
  };
  rows.group("Speed");
  result("step_time_s", "step time", Unit::Seconds, &sim::Result::step_time);
  result("tokens_per_s", "tokens/s", Unit::Count, &sim::Result::tokens_per_s);
  rows.add("tokens_per_s_per_device", "tokens/s per device", Unit::Count,
           [](const Answer& a) { return a.devices > 0 ? a.result.tokens_per_s / a.devices : 0.0; });
  result("samples_per_s", "samples/s", Unit::Count, &sim::Result::samples_per_s);
  result("mfu", "MFU", Unit::Fraction, &sim::Result::mfu);
  result("hfu", "HFU", Unit::Fraction, &sim::Result::hfu);
  rows.add("scenario.devices", "devices", Unit::Count,
           [](const Answer& a) { return static_cast<double>(a.devices); });
  result("model_flops_per_step", "model FLOPs per step", Unit::Count, &sim::Result::model_flops);
  result("bubble_fraction.makespan", "bubble of makespan", Unit::Fraction,
         &sim::Result::bubble_makespan);
  result("bubble_fraction.longest_stage", "bubble of stage", Unit::Fraction,
         &sim::Result::bubble_longest_stage);
}

void add_lists(RowList& rows) {
  rows.group("Where the time goes");
  const auto parts = part_keys();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    rows.add("breakdown_s." + parts[p], title_name(parts[p]), Unit::Seconds,
             [p](const Answer& a) { return a.result.breakdown[p]; });
  }
  rows.group("Memory of the fullest ranks");
  const auto memory = [&](std::string key, std::string title, double sim::MemoryPeak::*at) {
    rows.add(std::move(key), std::move(title), Unit::Bytes, [at](const Answer& a) {
      const sim::MemoryPeak* peak = fullest(a.result);
      return peak == nullptr ? 0.0 : peak->*at;
    });
  };
  memory("memory.reserved_bytes", "reserved", &sim::MemoryPeak::reserved_bytes);
  memory("memory.capacity_bytes", "capacity", &sim::MemoryPeak::capacity_bytes);
  memory("memory.peak_bytes", "allocated", &sim::MemoryPeak::peak_bytes);
  const auto held = memory_part_keys();
  for (std::size_t p = 0; p < held.size(); ++p) {
    rows.add("memory.parts_bytes." + held[p], title_name(held[p]), Unit::Bytes,
             [p](const Answer& a) {
               const sim::MemoryPeak* peak = fullest(a.result);
               return peak == nullptr ? 0.0 : peak->parts[p];
             });
  }
  rows.group("Traffic per step, all ranks");
  const auto streams = stream_keys();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    rows.add("traffic_bytes." + streams[s], title_name(streams[s]), Unit::Bytes,
             [s](const Answer& a) { return a.result.traffic_bytes[s]; });
  }
}

std::string format(double value, Unit unit) {
  if (value == 0) return "-";
  switch (unit) {
    case Unit::Seconds:
      return base::format_seconds(base::Seconds(value));
    case Unit::Bytes:
      return base::format_bytes(base::Bytes(value));
    case Unit::Fraction:
      return base::format_percent(value);
    case Unit::Count:
      return base::format_count(value);
  }
  return "";
}

std::string ratio(double value, double reference) {
  if (reference == 0 || value == 0) return "";
  const double times = value / reference;
  if (times >= 1e6) return "x" + base::format_count(times);
  return "x" + base::format_fixed(times, times < 1e3 ? 3 : 0);  // leaves a blank before it
}

/// A, B, …, Z, 27, 28, …
std::string letter(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

std::string table_line(const Row& row, std::span<const std::size_t> shown) {
  std::string line =
      "  " + pad_right(row.title, kTitle) + pad_left(format(row.values[0], row.unit), kValue);
  for (const std::size_t i : shown) {
    line += pad_left(format(row.values[i], row.unit), kValue) +
            pad_left(ratio(row.values[i], row.values[0]), kRatio);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string table(const std::vector<Row>& rows, std::span<const std::size_t> shown,
                  const TextStyle& style) {
  std::string head = std::string(2 + kTitle, ' ') + pad_left("A", kValue);
  for (const std::size_t i : shown) {
    head += pad_left(letter(i), kValue) + pad_left(letter(i) + "/A", kRatio);
  }
  std::string out = "\n" + paint(head, Ink::Dim, style) + "\n";
  std::string group;
  for (const Row& row : rows) {
    if (row.group != group) out += paint(row.group, Ink::Bold, style) + "\n";
    group = row.group;
    out += table_line(row, shown) + "\n";
  }
  return out;
}

void write_answer(JsonWriter& json, const Answer& a, std::size_t index) {
  json.begin_object();
  json.field("label", letter(index)).field("scenario", std::string_view(a.scenario));
  json.field("file", std::string_view(a.file)).field("hash", std::string_view(a.hash));
  json.field("stack", std::string_view(a.stack));
  json.key("profiles").begin_array(true);
  for (const std::string& name : a.profiles) json.value(std::string_view(name));
  json.end_array();
  json.field("engine", std::string_view(a.result.engine));
  if (!a.result.fidelity.empty()) json.field("fidelity", std::string_view(a.result.fidelity));
  json.field("version", std::string_view(a.version));
  json.field("command", std::string_view(a.command)).field("fits", a.result.fits());
  json.end_object();
}

}  // namespace

std::vector<Row> compare(std::span<const Answer> answers) {
  RowList rows(answers);
  add_speed(rows);
  add_lists(rows);
  return rows.take();
}

std::string comparison_text(std::span<const Answer> answers, const TextStyle& style) {
  std::string out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& a = answers[i];
    out += pad_right(letter(i), 3) + paint(cut(printable(a.scenario), 60), Ink::Bold, style) +
           (a.result.fits() ? "" : paint("  DOES NOT FIT", Ink::Red, style)) + "\n   " +
           printable(a.command) + "\n   scenario " + printable(a.hash) + ", paceline " +
           printable(a.version) + "\n";
  }
  const auto rows = compare(answers);
  for (std::size_t first = 1; first < std::max<std::size_t>(answers.size(), 2); first += kAcross) {
    std::vector<std::size_t> shown;
    for (std::size_t i = first; i < std::min(first + kAcross, answers.size()); ++i) {
      shown.push_back(i);
    }
    out += table(rows, shown, style);
  }
  return out;
}

std::string comparison_json(std::span<const Answer> answers, std::string_view command) {
  JsonWriter json;
  json.begin_object().field("schema", kComparisonSchema).field("version", PACELINE_VERSION);
  json.field("command", command).key("results").begin_array();
  for (std::size_t i = 0; i < answers.size(); ++i) write_answer(json, answers[i], i);
  json.end_array().key("quantities").begin_array();
  for (const Row& row : compare(answers)) {
    json.begin_object().field("name", std::string_view(row.key)).key("values").begin_array(true);
    for (const double value : row.values) json.value(value);
    json.end_array().key("difference").begin_array(true);
    for (const double value : row.values) json.value(value - row.values[0]);
    json.end_array().key("ratio").begin_array(true);
    for (const double value : row.values) {
      if (row.values[0] == 0) {
        json.null();
      } else {
        json.value(value / row.values[0]);
      }
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.finish();
}

}  // namespace paceline::reports

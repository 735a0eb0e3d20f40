// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json.hpp"
#include "base/text.hpp"
#include "calibrate/collective_sets.hpp"

namespace paceline::calibrate {

using base::pad_left, base::pad_right;

namespace {

using Model = CollectiveModel;
using Result = CollectiveSetResult;

/// Bounds by band: median and 90th percentile; 0: none.
struct Limits {
  Model model;
  std::array<double, kCollectiveBands> median, p90;
};
constexpr std::array<Limits, 3> kLimits{
    {{Model::WhiteBox, {0.15, 0.15, 0.15, 0.05}, {0.35, 0.35, 0.50, 0.15}},
     {Model::LeftOut, {0.02, 0.04, 0.04, 0.01}, {}},
     {Model::Carried, {0, 0, 0.08, 0.04}, {}}}};

constexpr int kLabel = 34;
constexpr int kCell = 11;

std::string percent(double fraction, int digits) {
  return base::format_fixed(100 * fraction, digits);
}

std::string cell(const CollectiveError& e) {
  return pad_left(e.points == 0 ? "-" : percent(e.median, 1) + "/" + percent(e.p90, 0), kCell);
}
std::string cells(const CollectiveErrors& errors) {
  std::string text;
  for (const CollectiveError& e : errors) text += cell(e);
  return text;
}
std::string head(const std::string& first, const std::string& second) {
  std::string out = pad_right("median / p90 error in %", kLabel);
  for (std::size_t b = 0; b < kCollectiveBands; ++b)
    out += pad_left(std::string(b == 0 ? first + ": " : "") + std::string(collective_band_name(b)),
                    kCell);
  return out + "  |  " + second + "\n";
}

bool has(const std::vector<CollectiveRow>& rows, Model model) {
  return collective_error(rows, model).points > 0;
}

std::string white_box_cells(const Result& r) {
  if (r.trust != CollectiveClass::C) return cells(collective_errors(r.rows, Model::WhiteBox));
  return pad_left("no claim without a log", kCell * int{kCollectiveBands});
}

template <class Keep>
std::string pooled(const std::string& label, const std::vector<Result>& results, Keep keep) {
  std::vector<CollectiveRow> rows;
  for (const Result& r : results)
    if (keep(r)) rows.insert(rows.end(), r.rows.begin(), r.rows.end());
  return pad_right(label, kLabel) + cells(collective_errors(rows, Model::WhiteBox)) + "  |" +
         cells(collective_errors(rows, Model::Table)) + "\n";
}

std::string first_table(const std::vector<Result>& results) {
  std::string out = head("white box", "with tables");
  for (const Result& r : results) {
    out += pad_right(r.name + (r.held_out ? " *" : ""), kLabel) + white_box_cells(r) + "  |";
    if (r.tabulated) out += cells(collective_errors(r.rows, Model::Table));
    out += "\n";
  }
  out += pooled("class a", results, [](const Result& r) { return r.trust == CollectiveClass::A; });
  out += pooled("class a, held out", results,
                [](const Result& r) { return r.trust == CollectiveClass::A && r.held_out; });
  out += pooled("class b", results, [](const Result& r) { return r.trust == CollectiveClass::B; });
  out += pooled("tables against other logs", results,
                [](const Result& r) { return r.tabulated && !r.table_itself; });
  return out + "* held out: no constant of the white box was fitted on it\n";
}

std::string second_table(const std::vector<Result>& results) {
  std::string out = head("left out", "from another log of the node");
  int spikes = 0;
  for (const Result& r : results) {
    spikes += r.spikes;
    if (!has(r.rows, Model::LeftOut) && !has(r.rows, Model::Carried)) continue;
    out += pad_right(r.name, kLabel) + cells(collective_errors(r.rows, Model::LeftOut)) + "  |";
    if (has(r.rows, Model::Carried)) out += cells(collective_errors(r.rows, Model::Carried));
    out += "\n";
  }
  return out + "left out: every size inside a log from its other sizes, without " +
         std::to_string(spikes) + " warm-up spikes\n";
}

std::string bound_line(const CollectiveBound& b) {
  std::string text = pad_right("bound: " + std::string(to_text(b.model)), kLabel + 6) +
                     pad_right(std::string(collective_band_name(b.band)), 7) +
                     pad_left(percent(b.error.median, 1), 6) + " of " +
                     pad_left(percent(b.median, 0), 2) + " %";
  if (b.p90 > 0)
    text += ", p90 " + pad_left(percent(b.error.p90, 0), 3) + " of " + percent(b.p90, 0) + " %";
  return text + (b.met() ? "  met" : "  EXCEEDED") + "\n";
}

/// "white_box", "le_64KiB": parts of a suite's name.
std::string_view suite_model(Model model) {
  switch (model) {
    case Model::WhiteBox:
      return "white_box";
    case Model::Table:
      return "tables";
    case Model::LeftOut:
      return "left_out";
    case Model::Carried:
      return "carried";
  }
  return "";
}
constexpr std::array<std::string_view, kCollectiveBands> kSuiteBands{"le_64KiB", "lt_1MiB",
                                                                     "lt_64MiB", "ge_64MiB"};

std::string case_id(const Result& r, const CollectiveRow& row) {
  return r.name + " " + std::to_string(row.ranks) + " ranks " +
         base::format_fixed(row.size.value, 0) + " B";
}
double case_error(const CollectiveRow& row, Model model) {
  const double ratio = *collective_prediction(row, model) / row.measured;
  return std::max(ratio, 1 / ratio) - 1;
}

/// The figures every suite of `validate --json` has.
void write_figures(base::JsonWriter& json, const std::vector<Result>& results,
                   const CollectiveBound& b) {
  double sum = 0, worst = 0, bias = 0;
  std::string worst_id;
  for (const Result& r : results)
    for (const CollectiveRow& row : r.rows) {
      if (collective_band(row.size) != b.band || !counts_for_bound(r, row, b.model)) continue;
      const double error = case_error(row, b.model);
      sum += error;
      bias += *collective_prediction(row, b.model) / row.measured - 1;
      if (error < worst) continue;
      worst = error;
      worst_id = case_id(r, row);
    }
  const int rows = std::max(1, b.error.points);
  json.field("rows", b.error.points).field("unpredicted", 0);
  json.field("mean_error", sum / rows).field("worst_error", worst).field("worst_id", worst_id);
  json.field("bias", bias / rows);
  json.field("median_error", b.error.median).field("p90_error", b.error.p90);
  json.field("median_bias", b.error.bias);
  json.key("kendall_tau").null().key("baseline_error").null();
}

void write_case(base::JsonWriter& json, const Result& r, const CollectiveRow& row, Model model) {
  json.begin_object();
  json.field("id", case_id(r, row)).field("measured", row.measured.value);
  json.field("predicted", collective_prediction(row, model)->value);
  json.field("error", case_error(row, model));
  json.key("baseline_error").null();
  json.field("source", r.source);
  json.end_object();
}

void write_suite(base::JsonWriter& json, const std::vector<Result>& results,
                 const CollectiveBound& b) {
  json.begin_object();
  json.field("name", "nccl." + std::string(suite_model(b.model)) + "." +
                         std::string(kSuiteBands.at(b.band)));
  json.field("title", "collective time, " + std::string(to_text(b.model)));
  json.field("metric", "log");
  write_figures(json, results, b);
  json.key("goal").begin_object().end_object();
  json.key("bound").begin_object().field("median", b.median);
  if (b.p90 > 0) json.field("p90", b.p90);
  json.end_object();
  json.field("passed", b.met()).field("goal_met", b.met());
  json.key("excluded").begin_array();
  for (const Result& r : results) {
    if (b.model != Model::WhiteBox || r.trust == CollectiveClass::A) continue;
    json.begin_object().field("id", r.name);
    json.field("why",
               r.trust == CollectiveClass::B ? "class b: no bound" : "no claim without a log");
    json.end_object();
  }
  json.end_array();
  json.key("cases").begin_array();
  for (const Result& r : results)
    for (const CollectiveRow& row : r.rows)
      if (collective_band(row.size) == b.band && counts_for_bound(r, row, b.model))
        write_case(json, r, row, b.model);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string_view to_text(CollectiveModel model) {
  switch (model) {
    case Model::WhiteBox:
      return "white box";
    case Model::Table:
      return "with tables";
    case Model::LeftOut:
      return "one size left out";
    case Model::Carried:
      return "from another log of the node";
  }
  return "";
}

bool counts_for_bound(const CollectiveSetResult& result, const CollectiveRow& row,
                      CollectiveModel model) {
  if (!collective_prediction(row, model)) return false;
  if (model != Model::WhiteBox) return true;
  return result.trust == CollectiveClass::A && row.ranks <= kBoundedRanks;
}

std::vector<CollectiveRow> bounded_rows(const std::vector<CollectiveSetResult>& results,
                                        CollectiveModel model, std::size_t band) {
  std::vector<CollectiveRow> rows;
  for (const Result& r : results)
    for (const CollectiveRow& row : r.rows)
      if (collective_band(row.size) == band && counts_for_bound(r, row, model)) rows.push_back(row);
  return rows;
}

std::vector<CollectiveBound> collective_bounds(const std::vector<CollectiveSetResult>& results) {
  std::vector<CollectiveBound> bounds;
  for (const Limits& l : kLimits)
    for (std::size_t b = 0; b < kCollectiveBands; ++b) {
      if (l.median[b] <= 0) continue;
      const CollectiveError e = collective_error(bounded_rows(results, l.model, b), l.model);
      bounds.push_back({l.model, b, l.median[b], l.p90[b], e});
    }
  return bounds;
}

bool collectives_within_bounds(const std::vector<CollectiveSetResult>& results) {
  const auto bounds = collective_bounds(results);
  return std::all_of(bounds.begin(), bounds.end(),
                     [](const CollectiveBound& b) { return b.met(); });
}

std::string collective_report(const std::vector<CollectiveSetResult>& results) {
  std::string out = first_table(results) + "\n" + second_table(results) + "\n";
  for (const CollectiveBound& b : collective_bounds(results)) out += bound_line(b);
  return out + "white box: class a up to " + std::to_string(kBoundedRanks) +
         " ranks; the others: every log\n";
}

std::string collective_json(const std::vector<CollectiveSetResult>& results,
                            const std::string& command) {
  base::JsonWriter json;
  json.begin_object();
  json.field("schema", "paceline-validate-1").field("version", PACELINE_VERSION);
  json.field("command", command).field("passed", collectives_within_bounds(results));
  json.key("suites").begin_array();
  for (const CollectiveBound& b : collective_bounds(results)) write_suite(json, results, b);
  json.end_array();
  json.end_object();
  return json.finish();
}

}  // namespace paceline::calibrate

// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/set.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/message.hpp"
#include "models/scenario/csv.hpp"
#include "models/scenario/set_expression.hpp"
#include "models/scenario/set_where.hpp"

namespace paceline::models {
namespace {

namespace fs = std::filesystem;
using base::Document;
using base::Fields;
using base::Value;

constexpr double kInfinity = std::numeric_limits<double>::max();
constexpr std::array<base::Named<ErrorMetric>, 4> kMetrics{{{"relative", ErrorMetric::Relative},
                                                            {"log", ErrorMetric::Log},
                                                            {"absolute", ErrorMetric::Absolute},
                                                            {"fraction", ErrorMetric::Fraction}}};

/// What of a set file is applied to every row.
struct Override {
  std::string path, where;
  Expression expression;
  std::string pattern;  ///< "{hop_us} us" instead of an expression
};
struct CaseColumn {
  int column = 0;
  const Value* trees = nullptr;
  std::string where;
};
struct MeasuredColumn {
  std::string quantity;
  Expression value;
  std::optional<Expression> scale;
  const Value* labels = nullptr;
};
struct Plan {
  const Document* document = nullptr;
  Table table;
  Value base;
  std::vector<Override> overrides;
  std::vector<CaseColumn> cases;
  std::vector<MeasuredColumn> measured;
  std::string id, id_where;
  std::vector<int> group;
};

void move_to(Value& value, base::Place place) {
  value.place = place;
  for (Value& item : value.items) move_to(item, place);
  for (base::Field& field : value.fields) {
    field.place = place;
    move_to(field.value, place);
  }
}

/// The node at a dotted path; maps on the way are made, anything else in the way is replaced.
Value& node_at(Value& root, std::string_view path, base::Place place) {
  Value* node = &root;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    node->kind = Value::Kind::Map;
    const auto found = std::find_if(node->fields.begin(), node->fields.end(),
                                    [&](const base::Field& f) { return f.key == key; });
    if (found == node->fields.end()) {
      node->fields.push_back({std::string(key), place, Value{}});
      node = &node->fields.back().value;
    } else {
      node = &found->value;
    }
    node->place = place;
    if (dot == std::string_view::npos) return *node;
    path.remove_prefix(dot + 1);
  }
}

const Value* field_of(const Value& map, std::string_view key) {
  for (const base::Field& field : map.fields)
    if (field.key == key) return &field.value;
  return nullptr;
}

/// The text a row puts at a path, and the cell it comes from; empty where the cell is.
std::pair<std::string, const Cell*> override_text(const Override& change, const Table& table,
                                                  const std::vector<Cell>& row) {
  if (!change.pattern.empty()) {
    const auto open = change.pattern.find('{');
    const auto name = std::string_view(change.pattern)
                          .substr(open + 1)
                          .substr(0, change.pattern.find('}', open) - open - 1);
    const auto index = column_index(name, table, change.where);
    const Cell& cell = row[static_cast<std::size_t>(index)];
    if (cell.text.empty()) return {"", &cell};
    return {fill_template(change.pattern, table, row, change.where), &cell};
  }
  const Cell& cell = first_cell(change.expression, row);
  if (is_column(change.expression)) return {cell.text, &cell};
  const auto value = evaluate(change.expression, table, row);
  return {value ? number_text(*value) : "", &cell};
}

void apply_override(const Override& change, const Table& table, const std::vector<Cell>& row,
                    Value& scenario) {
  const auto [text, cell] = override_text(change, table, row);
  if (text.empty()) return;  // an empty cell leaves the base as it is
  const base::Place place{cell->line, cell->column};
  Value value;
  if (text.front() == '[') {
    value = base::parse_yaml(text, table.where(*cell)).root;
  } else {
    value.kind = Value::Kind::Scalar;
    value.text = text;
  }
  move_to(value, place);
  node_at(scenario, change.path, place) = std::move(value);
}

void apply_case(const CaseColumn& choice, const Table& table, const std::vector<Cell>& row,
                Value& scenario) {
  const Cell& cell = row[static_cast<std::size_t>(choice.column)];
  if (cell.text.empty()) return;
  const Value* tree = field_of(*choice.trees, cell.text);
  if (tree == nullptr) {
    std::string known;
    for (const base::Field& field : choice.trees->fields)
      known += (known.empty() ? "" : ", ") + field.key;
    throw base::Error(table.where(cell), "no case for " + base::quote(cell.text),
                      choice.where + " has " + known);
  }
  if (tree->kind == Value::Kind::Null) return;
  Value placed = *tree;
  move_to(placed, {cell.line, cell.column});
  base::merge(scenario, placed);
}

std::optional<double> label_value(const MeasuredColumn& column, const Plan& plan,
                                  const Cell& cell) {
  if (cell.text.empty()) return std::nullopt;
  const Value* label = field_of(*column.labels, cell.text);
  if (label == nullptr)
    throw base::Error(plan.table.where(cell),
                      base::quote(cell.text) + " is no label of " + column.quantity);
  return base::parse_number(label->text, plan.table.where(cell), 0, 1);
}

SetRow make_row(const Plan& plan, const std::vector<Cell>& cells, std::size_t index) {
  SetRow row;
  row.id = plan.id.empty() ? "row " + std::to_string(index + 1)
                           : fill_template(plan.id, plan.table, cells, plan.id_where);
  for (const int column : plan.group) {
    if (!row.group.empty()) row.group += ", ";
    row.group += plan.table.header[static_cast<std::size_t>(column)].text + " " +
                 cells[static_cast<std::size_t>(column)].text;
  }
  row.scenario.file = plan.table.file;
  row.scenario.root = plan.base;
  move_to(row.scenario.root, {cells.front().line, cells.front().column});
  for (const Override& change : plan.overrides)
    apply_override(change, plan.table, cells, row.scenario.root);
  for (const CaseColumn& choice : plan.cases)
    apply_case(choice, plan.table, cells, row.scenario.root);
  for (const MeasuredColumn& column : plan.measured) {
    const auto value = column.labels != nullptr
                           ? label_value(column, plan, first_cell(column.value, cells))
                           : evaluate(column.value, plan.table, cells);
    if (!value) continue;
    Measured measured{*value, 1, {}};
    if (column.scale) measured.scale = evaluate(*column.scale, plan.table, cells).value_or(1);
    row.measured.emplace(column.quantity, std::move(measured));
  }
  return row;
}

ErrorLimit read_limit(Fields& fields, std::string_view key) {
  ErrorLimit limit;
  if (!fields.has(key)) return limit;
  Fields map = fields.map(key);
  const auto read = [&](std::string_view name, std::optional<double>& out) {
    if (map.has(name)) out = map.number(name, 0, kInfinity);
  };
  read("mean", limit.mean);
  read("worst", limit.worst);
  read("false_positives", limit.false_positives);
  map.done();
  return limit;
}

void read_quantity(const base::Field& field, Fields fields, Plan& plan, MeasuredSet& set) {
  SetQuantity quantity;
  quantity.name = field.key;
  quantity.metric = fields.choice<ErrorMetric>("metric", kMetrics, ErrorMetric::Relative);
  quantity.goal = read_limit(fields, "goal");
  quantity.bound = read_limit(fields, "bound");
  quantity.bound_all = read_limit(fields, "bound_all");
  MeasuredColumn column;
  column.quantity = field.key;
  column.value = parse_expression(fields.text("value"), plan.table, fields.where("value"));
  if (fields.has("scale"))
    column.scale = parse_expression(fields.text("scale"), plan.table, fields.where("scale"));
  if (fields.has("labels")) {
    column.labels = &fields.at("labels");
    if (column.labels->kind != Value::Kind::Map || !is_column(column.value))
      fields.fail("labels", "labels map the cells of one column to 0 or 1");
  }
  fields.done();
  plan.measured.push_back(std::move(column));
  set.quantities.push_back(std::move(quantity));
}

const Value& map_at(Fields& fields, std::string_view key) {
  const Value& value = fields.at(key);
  if (value.kind != Value::Kind::Map) fields.fail(key, "is no map");
  return value;
}

void read_changes(Fields& fields, Plan& plan) {
  if (fields.has("overrides")) {
    const Value& map = map_at(fields, "overrides");
    Fields view = fields.view(map, "overrides");
    for (const base::Field& field : map.fields) {
      Override change{field.key, view.where(field.key), {}, {}};
      const std::string text = view.text(field.key);
      if (text.find('{') != std::string::npos) {
        change.pattern = text;
      } else {
        change.expression = parse_expression(text, plan.table, change.where);
      }
      plan.overrides.push_back(std::move(change));
    }
  }
  if (!fields.has("cases")) return;
  const Value& map = map_at(fields, "cases");
  Fields view = fields.view(map, "cases");
  for (const base::Field& field : map.fields) {
    CaseColumn choice;
    choice.where = view.where(field.key);
    choice.column = column_index(field.key, plan.table, choice.where);
    choice.trees = &map_at(view, field.key);
    plan.cases.push_back(std::move(choice));
  }
}

void read_exclusion(Fields fields, const Plan& plan, MeasuredSet& set) {
  Exclusion exclusion;
  exclusion.rule = fields.text("rule");
  exclusion.why = fields.text("why");
  exclusion.quantity = fields.text("quantity", "");
  const auto named = [&](const SetQuantity& q) { return q.name == exclusion.quantity; };
  if (!exclusion.quantity.empty() &&
      std::none_of(set.quantities.begin(), set.quantities.end(), named))
    fields.fail("quantity", "the set measures no " + exclusion.quantity);
  const auto count = fields.integer("count", 1, 1'000'000);
  const int index = static_cast<int>(set.exclusions.size());
  std::vector<RowFilter> filters;
  for (const Value& item : fields.list("where"))
    filters.push_back(read_filter(item, plan.table, *plan.document, fields.where(item, "where")));
  for (std::size_t r = 0; r < set.rows.size(); ++r) {
    const auto taken = [&](const RowFilter& f) { return matches(f, plan.table.rows[r]); };
    if (std::none_of(filters.begin(), filters.end(), taken)) continue;
    bool measured = false;
    for (auto& [name, value] : set.rows[r].measured) {
      if (!exclusion.quantity.empty() && name != exclusion.quantity) continue;
      value.excluded_by.push_back(index);
      measured = true;
    }
    exclusion.rows += measured ? 1 : 0;
  }
  if (exclusion.rows != count)
    fields.fail("count", "the rule takes out " + std::to_string(exclusion.rows) + " rows, not " +
                             std::to_string(count));
  fields.done();
  set.exclusions.push_back(std::move(exclusion));
}

void number_repeated_ids(std::vector<SetRow>& rows) {
  std::map<std::string, int> seen;
  for (SetRow& row : rows)
    if (const int n = ++seen[row.id]; n > 1) row.id += " #" + std::to_string(n);
}

void read_group(Fields& fields, Plan& plan) {
  for (const std::string& name : fields.text_list("group_by"))
    plan.group.push_back(column_index(name, plan.table, fields.where("group_by")));
}

}  // namespace

MeasuredSet read_set(const std::string& path) {
  const Document document = base::read_document(path);
  Fields fields(document, document.root);
  MeasuredSet set;
  set.file = path;
  set.name = fields.text("set");
  if (set.name != fs::path(path).stem().string())
    fields.fail("set",
                "is '" + set.name + "' but the file is " + fs::path(path).filename().string(),
                "a set carries the name of its file");
  set.title = fields.text("title", set.name);
  set.source = fields.text("source");
  set.flops_convention = fields.text("flops_convention", "");
  set.notes = fields.text_list("notes");

  Plan plan;
  plan.document = &document;
  const std::string table = (fs::path(path).parent_path() / fields.text("table")).string();
  if (!fs::exists(table)) fields.fail("table", "there is no file " + table);
  plan.table = parse_csv(base::read_file(table), table);
  plan.base = map_at(fields, "base");
  read_changes(fields, plan);
  plan.id = fields.text("id", "");
  plan.id_where = fields.where("id");
  read_group(fields, plan);
  const Value& measured = map_at(fields, "measured");
  Fields quantities = fields.view(measured, "measured");
  for (const base::Field& field : measured.fields)
    read_quantity(field, quantities.map(field.key), plan, set);

  for (std::size_t r = 0; r < plan.table.rows.size(); ++r)
    set.rows.push_back(make_row(plan, plan.table.rows[r], r));
  number_repeated_ids(set.rows);
  if (fields.has("exclude"))
    for (const Value& item : fields.list("exclude"))
      read_exclusion(fields.view(item, "exclude"), plan, set);
  fields.done();
  return set;
}

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/set_where.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "models/scenario/set_expression.hpp"

namespace paceline::models {
namespace {

using base::Value;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool equal(std::string_view cell, std::string_view wanted) {
  if (cell == wanted) return true;
  const auto a = number(cell);
  const auto b = number(wanted);
  return a && b && *a == *b;
}

/// ">= 2" and its like; nothing when the text does not begin with an order.
std::optional<std::pair<Comparison, std::string_view>> order_of(std::string_view text) {
  // The longer signs first: ">=" begins with ">".
  constexpr std::array<std::pair<std::string_view, Comparison>, 4> kOrders{
      {{">=", Comparison::GreaterOrEqual},
       {"<=", Comparison::LessOrEqual},
       {">", Comparison::Greater},
       {"<", Comparison::Less}}};
  for (const auto& [sign, comparison] : kOrders) {
    if (text.substr(0, sign.size()) != sign) continue;
    text.remove_prefix(sign.size());
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    return std::pair{comparison, text};
  }
  return std::nullopt;
}

void read_value(const Value& value, const std::string& where, ColumnFilter& filter) {
  if (value.kind == Value::Kind::List) {
    for (const Value& item : value.items) {
      if (item.kind != Value::Kind::Scalar) throw base::Error(where, "a list of cells is needed");
      filter.values.push_back(item.text);
    }
    return;
  }
  if (value.kind != Value::Kind::Scalar)
    throw base::Error(where, "a cell, a list of cells or an order like '>= 2' is needed");
  if (const auto order = order_of(value.text)) {
    constexpr double kMax = std::numeric_limits<double>::max();
    filter.comparison = order->first;
    filter.limit = base::parse_number(order->second, where, -kMax, kMax);
    return;
  }
  filter.values.push_back(value.text);
}

bool satisfies(const ColumnFilter& filter, std::string_view cell) {
  const auto value = number(cell);
  switch (filter.comparison) {
    case Comparison::Equal:
      return std::any_of(filter.values.begin(), filter.values.end(),
                         [&](const std::string& wanted) { return equal(cell, wanted); });
    case Comparison::Less:
      return value && *value < filter.limit;
    case Comparison::LessOrEqual:
      return value && *value <= filter.limit;
    case Comparison::Greater:
      return value && *value > filter.limit;
    case Comparison::GreaterOrEqual:
      return value && *value >= filter.limit;
  }
  return false;
}

}  // namespace

RowFilter read_filter(const Value& value, const Table& table, const base::Document& document,
                      const std::string& where) {
  if (value.kind != Value::Kind::Map || value.fields.empty())
    throw base::Error(where, "a filter is a map from columns to cells",
                      "write {model: 39.1B, tp: [2, 4]}");
  RowFilter filter;
  for (const base::Field& field : value.fields) {
    const std::string here = document.file + ":" + std::to_string(field.place.line) + ":" +
                             std::to_string(field.place.column) + ": " + field.key;
    ColumnFilter column;
    column.column = column_index(field.key, table, here);
    read_value(field.value, here, column);
    filter.push_back(std::move(column));
  }
  return filter;
}

bool matches(const RowFilter& filter, const std::vector<Cell>& row) {
  return std::all_of(filter.begin(), filter.end(), [&](const ColumnFilter& f) {
    return satisfies(f, row[static_cast<std::size_t>(f.column)].text);
  });
}

}  // namespace paceline::models

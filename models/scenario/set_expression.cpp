// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/set_expression.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

bool word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::vector<std::string> column_names(const Table& table) {
  std::vector<std::string> names;
  for (const Cell& cell : table.header) names.push_back(cell.text);
  return names;
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

double cell_number(const Cell& cell, const Table& table) {
  if (const auto value = plain_number(cell.text)) return *value;
  throw base::Error(table.where(cell), base::quote(cell.text) + " is no number",
                    "write a plain decimal number or leave the cell empty");
}

}  // namespace

int column_index(std::string_view name, const Table& table, const std::string& where) {
  const int found = table.find(name);
  if (found >= 0) return found;
  throw base::Error(where, table.file + " has no column " + base::quote(name),
                    base::suggest(name, column_names(table), "one of"));
}

Expression parse_expression(std::string_view text, const Table& table, const std::string& where) {
  Expression expression;
  bool divides = false;
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  while (true) {
    skip_blanks();
    const std::size_t start = at;
    while (at < text.size() && word_character(text[at])) ++at;
    const std::string_view word = text.substr(start, at - start);
    if (word.empty())
      throw base::Error(where, base::quote(text) + " is no expression",
                        "write columns and numbers joined by * and /");
    Factor factor;
    factor.divides = divides;
    if (const auto number = plain_number(word)) {
      factor.number = *number;
    } else {
      factor.column = column_index(word, table, where);
    }
    expression.push_back(factor);
    skip_blanks();
    if (at == text.size()) return expression;
    if (text[at] != '*' && text[at] != '/')
      throw base::Error(where, base::quote(text) + " is no expression",
                        "write columns and numbers joined by * and /");
    divides = text[at++] == '/';
  }
}

std::optional<double> evaluate(const Expression& expression, const Table& table,
                               const std::vector<Cell>& row) {
  double value = 1;
  for (const Factor& factor : expression) {
    double number = factor.number;
    if (factor.column >= 0) {
      const Cell& cell = row[static_cast<std::size_t>(factor.column)];
      if (cell.text.empty()) return std::nullopt;
      number = cell_number(cell, table);
    }
    value = factor.divides ? value / number : value * number;
  }
  if (!std::isfinite(value))
    throw base::Error(table.where(first_cell(expression, row)), "value is not finite",
                      "a divisor in this row is 0 or a number is too large");
  return value;
}

const Cell& first_cell(const Expression& expression, const std::vector<Cell>& row) {
  for (const Factor& factor : expression)
    if (factor.column >= 0) return row[static_cast<std::size_t>(factor.column)];
  return row.front();
}

bool is_column(const Expression& expression) {
  return expression.size() == 1 && expression.front().column >= 0;
}

std::string fill_template(std::string_view pattern, const Table& table,
                          const std::vector<Cell>& row, const std::string& where) {
  std::string text;
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = pattern.find('}', open);
    if (close == std::string_view::npos)
      throw base::Error(where, "a '{' is never closed", "write {column}");
    const int index = column_index(pattern.substr(open + 1, close - open - 1), table, where);
    text += row[static_cast<std::size_t>(index)].text;
    pattern.remove_prefix(close + 1);
  }
  return text;
}

std::string number_text(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::floor(value) == value && std::fabs(value) < kExact)
    return std::to_string(static_cast<std::int64_t>(value));
  return base::shortest(value);
}

}  // namespace paceline::models

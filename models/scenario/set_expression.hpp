// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/csv.hpp"

/// The small arithmetic of set files: `gpus / 8`, `step_ms / 1000`, `{model} tp{tp}`.
namespace paceline::models {

/// One factor: a column of the table, or a number.
struct Factor {
  int column = -1;  ///< -1: `number`
  double number = 1;
  bool divides = false;
};

/// Columns and numbers joined by `*` and `/`, evaluated from left to right.
using Expression = std::vector<Factor>;

/// Index of a column; base::Error at `where` with the nearest name when there is none.
int column_index(std::string_view name, const Table& table, const std::string& where);

/// base::Error at `where` when a name is no column of the table or the text is no such expression.
Expression parse_expression(std::string_view text, const Table& table, const std::string& where);

/// The value in one row; nothing when a cell it needs is empty. base::Error at the cell when it is
/// no finite number, at `where` when the result is none (division by zero).
std::optional<double> evaluate(const Expression& expression, const Table& table,
                               const std::vector<Cell>& row);

/// The cell an error about the value should point to: the first column the expression names.
const Cell& first_cell(const Expression& expression, const std::vector<Cell>& row);

/// True for a single column: its text is used as it stands.
bool is_column(const Expression& expression);

/// "{model} tp{tp}" with the cells of a row in place of the column names.
std::string fill_template(std::string_view pattern, const Table& table,
                          const std::vector<Cell>& row, const std::string& where);

/// A number as a scenario writes it: whole numbers without an exponent.
std::string number_text(double value);

}  // namespace paceline::models

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "models/scenario/csv.hpp"

/// Which rows of a table a named exclusion takes out.
namespace paceline::models {

enum class Comparison { Equal, Less, LessOrEqual, Greater, GreaterOrEqual };

/// One column must satisfy one of the alternatives.
struct ColumnFilter {
  int column = 0;
  Comparison comparison = Comparison::Equal;
  double limit = 0;  ///< for the four orders
  /// for Equal: the text of the cell, numbers compared as numbers
  std::vector<std::string> values;
};

/// All columns must.
using RowFilter = std::vector<ColumnFilter>;

/// `{model: 39.1B, tp: [2, 4], pp: ">= 2"}`; base::Error for another form or an unknown column.
RowFilter read_filter(const base::Value& value, const Table& table, const base::Document& document,
                      const std::string& where);

/// A cell that is no number satisfies no order.
bool matches(const RowFilter& filter, const std::vector<Cell>& row);

}  // namespace paceline::models

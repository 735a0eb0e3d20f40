// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::base {

/// The row of a table (any range of rows with a `.name`) that has this name. Otherwise an Error
/// with the nearest valid names: "WHERE: unknown WHAT 'x'; did you mean 'y'?". `where` may be
/// empty.
template <class Table>
constexpr const auto& find(const Table& table, std::string_view name, const std::string& where = "",
                           std::string_view what = "name") {
  for (const auto& row : table) {
    if (std::string_view(row.name) == name) return row;
  }
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  const std::string problem = "unknown " + std::string(what) + " " + quote(name);
  const std::string hint = suggest(name, names, "one of");
  if (where.empty()) throw Error(hint.empty() ? problem : problem + "; " + hint);
  throw Error(where, problem, hint);
}

}  // namespace paceline::base

// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a measured set is made of: a table, an expression and a filter
// over its columns, separated by lines of "---".
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "models/scenario/set_expression.hpp"
#include "models/scenario/set_where.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

std::array<std::string, 3> split(const std::string& text) {
  std::array<std::string, 3> parts;
  std::size_t begin = 0;
  for (std::string& part : parts) {
    const std::size_t end = std::min(text.find("\n---\n", begin), text.size());
    part = text.substr(begin, end - begin);
    begin = std::min(end + 5, text.size());
  }
  return parts;
}

void check_expression(const models::Table& table, const std::string& text) {
  const models::Expression expression = models::parse_expression(text, table, "input");
  PACELINE_CHECK(!expression.empty());
  for (const auto& row : table.rows) {
    fuzz::only_clear_errors([&] {
      const auto value = models::evaluate(expression, table, row);
      PACELINE_CHECK(!value || std::isfinite(*value));
    });
  }
}

void check_filter(const models::Table& table, const std::string& text) {
  const base::Document document = base::parse_yaml(text, "filter.yaml", fuzz::kLimits);
  const models::RowFilter filter =
      models::read_filter(document.root, table, document, "filter.yaml");
  for (const auto& row : table.rows) (void)models::matches(filter, row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = split(std::string(data, data + size));
  fuzz::only_clear_errors([&] {
    const models::Table table = models::parse_csv(parts[0], "input.csv");
    for (const auto& row : table.rows) PACELINE_CHECK(row.size() == table.header.size());
    fuzz::only_clear_errors([&] { check_expression(table, parts[1]); });
    fuzz::only_clear_errors([&] { check_filter(table, parts[2]); });
  });
  return 0;
}

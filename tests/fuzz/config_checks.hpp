// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <string>

#include "base/text.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace paceline::fuzz {

/// Every quantity that parses prints as text that parses back to the same value.
template <class Parse>
void check_quantity(const std::string& text, Parse parse) {
  only_clear_errors([&] {
    const auto value = parse(text, "x");
    PACELINE_CHECK(std::isfinite(value.value) && value.value >= 0);
    PACELINE_CHECK(parse(base::unit_text(value), "x") == value);
  });
}

inline void check_scalar(const std::string& text) {
  check_quantity(text, base::parse_seconds);
  check_quantity(text, base::parse_bytes);
  check_quantity(text, base::parse_rate);
  check_quantity(text, base::parse_flops_rate);
  check_quantity(text, base::parse_watts);
  only_clear_errors([&] {
    const double value = base::parse_number(text, "x", -10, 10);
    PACELINE_CHECK(value >= -10 && value <= 10);
  });
  only_clear_errors([&] {
    const std::int64_t value = base::parse_integer(text, "x", -10, 10);
    PACELINE_CHECK(value >= -10 && value <= 10);
  });
}

/// Reads every value in every way a strict map offers.
inline void check_fields(const base::Document& document, const base::Value& map) {
  PACELINE_CHECK(map.place.line > 0 && map.place.column > 0);
  if (map.kind == base::Value::Kind::Scalar) check_scalar(map.text);
  for (const base::Value& item : map.items) check_fields(document, item);
  if (map.kind != base::Value::Kind::Map) return;
  for (const base::Field& field : map.fields) {
    PACELINE_CHECK(field.place.line > 0 && field.place.column > 0);
    base::Fields fields(document, map, "path");
    only_clear_errors([&] { fields.text(field.key); });
    only_clear_errors([&] { fields.flag(field.key); });
    only_clear_errors([&] { fields.rate(field.key); });
    only_clear_errors([&] { fields.integer(field.key, 1, 8); });
    only_clear_errors([&] { fields.list(field.key); });
    only_clear_errors([&] { fields.text_list(field.key); });
    only_clear_errors([&] { fields.map(field.key); });
    only_clear_errors([&] { fields.at(field.key + "x"); });
    only_clear_errors([&] { fields.done(); });
    check_fields(document, field.value);
  }
}

/// The canonical text of any document is YAML that reads back to the same canonical text.
inline void check_document(const base::Document& document) {
  check_fields(document, document.root);
  const std::string text = base::canonical_text(document.root);
  PACELINE_CHECK(text.find('\n') == std::string::npos);
  const base::Limits generous{.bytes = 16u << 20, .depth = 64, .nodes = 100'000};
  PACELINE_CHECK(base::canonical_text(base::parse_yaml(text, "canonical", generous).root) == text);
  base::Document merged = document;
  base::merge(merged, document);
  PACELINE_CHECK(base::canonical_text(merged.root) == text);
}

}  // namespace paceline::fuzz

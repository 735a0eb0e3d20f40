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

/// Tries one meaning of the text: throwing costs far more than parsing, and other inputs try
/// others.
inline void check_scalar(const std::string& text) {
  switch (text.size() % 7) {
    case 0:
      return check_quantity(text, base::parse_seconds);
    case 1:
      return check_quantity(text, base::parse_bytes);
    case 2:
      return check_quantity(text, base::parse_flops_rate);
    case 3:
      return check_quantity(text, base::parse_watts);
    case 4:
      return only_clear_errors([&] {
        const double value = base::parse_number(text, "x", -10, 10);
        PACELINE_CHECK(value >= -10 && value <= 10);
      });
    case 5:
      return only_clear_errors([&] {
        const std::int64_t value = base::parse_integer(text, "x", -10, 10);
        PACELINE_CHECK(value >= -10 && value <= 10);
      });
    default:
      return check_quantity(text, base::parse_rate);
  }
}

inline void read_field(base::Fields& fields, const std::string& key, std::size_t way) {
  switch (way % 8) {
    case 0:
      fields.text(key);
      break;
    case 1:
      fields.flag(key);
      break;
    case 2:
      fields.rate(key);
      break;
    case 3:
      fields.integer(key, 1, 8);
      break;
    case 4:
      fields.list(key);
      break;
    case 5:
      fields.text_list(key);
      break;
    case 6:
      fields.at(key + "x");
      break;
    default:
      fields.map(key);
      break;
  }
  fields.done();
}

/// Reads every value, each in one of the ways a strict map offers.
inline void check_fields(const base::Document& document, const base::Value& map) {
  PACELINE_CHECK(map.place.line > 0 && map.place.column > 0);
  if (map.kind == base::Value::Kind::Scalar) check_scalar(map.text);
  for (const base::Value& item : map.items) check_fields(document, item);
  std::size_t way = map.fields.size();
  for (const base::Field& field : map.fields) {
    PACELINE_CHECK(field.place.line > 0 && field.place.column > 0);
    base::Fields fields(document, map, "path");
    only_clear_errors([&] { read_field(fields, field.key, ++way + field.key.size()); });
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

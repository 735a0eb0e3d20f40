// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/config.hpp"
#include "base/message.hpp"
#include "base/unknown_key.hpp"

namespace paceline::base {
namespace {

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null:
      return "nothing";
    case Value::Kind::List:
      return "a list";
    case Value::Kind::Map:
      return "a map";
    case Value::Kind::Scalar:
      break;
  }
  return value.quoted ? "the text " + quote(value.text) : quote(value.text);
}

std::string join(const std::string& path, std::string_view key) {
  if (key.empty()) return path;
  return path.empty() ? one_line(key) : path + "." + one_line(key);
}

std::string located(const Document& document, Place place, const std::string& path) {
  return place_text(document, place) + (path.empty() ? "" : ": " + path);
}

}  // namespace

Fields::Fields(const Document& document, const Value& map, std::string path)
    : document_(&document), map_(&map), path_(std::move(path)) {
  if (map.kind == Value::Kind::Map) return;
  const std::string here = located(document, map.place, path_);
  if (map.kind == Value::Kind::Null && path_.empty()) throw Error(here, "the file is empty");
  const bool no_space = map.kind == Value::Kind::Scalar && map.text.find(':') != std::string::npos;
  throw Error(here, "expected a map of keys and values, found " + describe(map),
              no_space ? "write a space after the ':'" : "");
}

const Value* Fields::lookup(std::string_view key) const {
  for (const Field& field : map_->fields) {
    if (field.key == key) return field.value.kind == Value::Kind::Null ? nullptr : &field.value;
  }
  return nullptr;
}

bool Fields::has(std::string_view key) { return find(key) != nullptr; }

const Value* Fields::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return lookup(key);
}

const Value& Fields::at(std::string_view key) {
  if (const Value* value = find(key)) return *value;
  std::vector<std::string> others;
  for (const Field& field : map_->fields) {
    if (field.key == key) fail(key, "has no value");
    if (std::find(asked_.begin(), asked_.end(), field.key) == asked_.end()) {
      others.push_back(field.key);
    }
  }
  const std::string near = nearest(key, others);
  fail(key, "is missing", near.empty() ? "" : "is " + quote(near) + " meant to be it?");
}

const Value& Fields::scalar(std::string_view key, std::string_view wanted, bool plain) {
  const Value& value = at(key);
  if (value.kind != Value::Kind::Scalar) {
    fail(key, "expected " + std::string(wanted) + ", found " + describe(value));
  }
  if (plain && value.quoted) {
    fail(key, "expected " + std::string(wanted) + ", found " + describe(value),
         "write it without quotes");
  }
  return value;
}

std::string Fields::text(std::string_view key) { return scalar(key, "a text", false).text; }
std::string Fields::text(std::string_view key, std::string_view fallback) {
  return has(key) ? text(key) : std::string(fallback);
}

std::int64_t Fields::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  return parse_integer(scalar(key, "a whole number", true).text, where(key), low, high);
}
std::int64_t Fields::integer(std::string_view key, std::int64_t low, std::int64_t high,
                             std::int64_t fallback) {
  return has(key) ? integer(key, low, high) : fallback;
}

double Fields::number(std::string_view key, double low, double high) {
  return parse_number(scalar(key, "a number", true).text, where(key), low, high);
}
double Fields::number(std::string_view key, double low, double high, double fallback) {
  return has(key) ? number(key, low, high) : fallback;
}

bool Fields::flag(std::string_view key) {
  const std::string& text = scalar(key, "true or false", true).text;
  if (text == "true") return true;
  if (text == "false") return false;
  std::string lower = text.substr(0, 8);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto among = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), lower) != words.end();
  };
  std::string hint;
  if (among({"yes", "on", "y", "1", "true"})) hint = "write true";
  if (among({"no", "off", "n", "0", "false"})) hint = "write false";
  fail(key, "expected true or false, found " + quote(text), hint);
}
bool Fields::flag(std::string_view key, bool fallback) { return has(key) ? flag(key) : fallback; }

Seconds Fields::seconds(std::string_view key) {
  return parse_seconds(scalar(key, "a time", false).text, where(key));
}
Seconds Fields::seconds(std::string_view key, Seconds fallback) {
  return has(key) ? seconds(key) : fallback;
}
Bytes Fields::bytes(std::string_view key) {
  return parse_bytes(scalar(key, "a size", false).text, where(key));
}
Bytes Fields::bytes(std::string_view key, Bytes fallback) {
  return has(key) ? bytes(key) : fallback;
}
BytesPerSecond Fields::rate(std::string_view key) {
  return parse_rate(scalar(key, "a rate", false).text, where(key));
}
BytesPerSecond Fields::rate(std::string_view key, BytesPerSecond fallback) {
  return has(key) ? rate(key) : fallback;
}
FlopsPerSecond Fields::flops_rate(std::string_view key) {
  return parse_flops_rate(scalar(key, "a compute rate", false).text, where(key));
}
FlopsPerSecond Fields::flops_rate(std::string_view key, FlopsPerSecond fallback) {
  return has(key) ? flops_rate(key) : fallback;
}
Watts Fields::watts(std::string_view key) {
  return parse_watts(scalar(key, "a power", false).text, where(key));
}
Watts Fields::watts(std::string_view key, Watts fallback) {
  return has(key) ? watts(key) : fallback;
}

std::size_t Fields::choose(std::string_view key, std::span<const std::string_view> names) {
  const Value& value = scalar(key, "a name", false);
  const auto found = std::find(names.begin(), names.end(), value.text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::vector<std::string> list(names.begin(), names.end());
  fail(key, "unknown value " + quote(value.text), suggest(value.text, list, "one of"));
}

Fields Fields::map(std::string_view key) { return view(at(key), key); }

const std::vector<Value>& Fields::list(std::string_view key) {
  const Value& value = at(key);
  if (value.kind != Value::Kind::List) fail(key, "expected a list, found " + describe(value));
  return value.items;
}

std::vector<std::string> Fields::text_list(std::string_view key) {
  const Value* value = find(key);
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::Scalar) return {value->text};
  std::vector<std::string> out;
  for (const Value& item : list(key)) {
    if (item.kind != Value::Kind::Scalar) {
      throw Error(where(item, key), "expected a list of texts, found " + describe(item) + " in it");
    }
    out.push_back(item.text);
  }
  return out;
}

Fields Fields::view(const Value& map, std::string_view name) const {
  return Fields(*document_, map, join(path_, name));
}

std::string Fields::where(std::string_view key) const {
  for (const Field& field : map_->fields) {
    if (field.key == key) return where(field.value, key);
  }
  return where(*map_, key);
}
std::string Fields::where(const Value& value, std::string_view key) const {
  return located(*document_, value.place, join(path_, key));
}

void Fields::fail(std::string_view key, const std::string& problem, const std::string& hint) const {
  throw Error(where(key), problem, hint);
}

void Fields::done() const {
  if (!strict_) return;
  for (const Field& field : map_->fields) {
    if (std::find(asked_.begin(), asked_.end(), field.key) != asked_.end()) continue;
    const std::string path = join(path_, field.key);
    throw UnknownKey(located(*document_, field.place, path), path,
                     suggest(field.key, asked_, "known keys:"));
  }
}

}  // namespace paceline::base

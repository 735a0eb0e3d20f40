// SPDX-License-Identifier: Apache-2.0
#include "models/workload/huggingface_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/message.hpp"

namespace paceline::models::huggingface {
namespace {

std::string kind_text(const base::Value& v) {
  switch (v.kind) {
    case base::Value::Kind::Null:
      return "null";
    case base::Value::Kind::List:
      return "a list";
    case base::Value::Kind::Map:
      return "an object";
    case base::Value::Kind::Scalar:
      break;
  }
  return v.quoted ? "the text " + base::quote(v.text) : base::one_line(v.text, 40);
}

/// Quoted, as JSON texts are, or a plain YAML word.
bool is_text(const base::Value& v) {
  if (v.kind != base::Value::Kind::Scalar) return false;
  if (v.quoted) return true;
  const char first = v.text.empty() ? '0' : v.text[0];
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  return letter && v.text != "true" && v.text != "false";
}

bool same(const base::Value& a, const base::Value& b) {
  return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted;
}

}  // namespace

Config::Config(const base::Document& document, const base::Value& map, std::string path,
               std::string type)
    : document_(&document), map_(&map), path_(std::move(path)), type_(std::move(type)) {}

const base::Value* Config::find(std::string_view key) const {
  for (const base::Field& field : map_->fields)
    if (field.key == key) return &field.value;
  return nullptr;
}

const base::Value* Config::pick(Keys keys, std::string_view& used) const {
  const base::Value* found = nullptr;
  used = *keys.begin();
  for (std::string_view key : keys) {
    const base::Value* v = find(key);
    if (v == nullptr || v->kind == base::Value::Kind::Null) continue;
    if (found != nullptr && !same(*found, *v))
      fail(key, "is " + kind_text(*v) + ", but " + std::string(used) + " is " + kind_text(*found),
           "the two name the same size: remove the wrong one");
    if (found == nullptr) {
      found = v;
      used = key;
    }
  }
  return found;
}

bool Config::given(Keys keys) const {
  std::string_view used;
  return pick(keys, used) != nullptr;
}

bool Config::null(std::string_view key) const {
  const base::Value* v = find(key);
  return v != nullptr && v->kind == base::Value::Kind::Null;
}

Size Config::size(Keys keys, Size high, std::optional<Size> fallback, Size low) {
  std::string_view key;
  const base::Value* v = pick(keys, key);
  if (v == nullptr) {
    if (!fallback) fail(key, "missing", "a " + type_ + " config must state it");
    note_default(key, std::to_string(*fallback));
    return *fallback;
  }
  if (v->kind != base::Value::Kind::Scalar || v->quoted)
    fail(key, "is " + kind_text(*v), "must be a whole number");
  return base::parse_integer(v->text, where(key), low, high);
}

bool Config::flag(Keys keys, bool fallback) {
  std::string_view key;
  const base::Value* v = pick(keys, key);
  if (v == nullptr) {
    note_default(key, fallback ? "true" : "false");
    return fallback;
  }
  if (v->kind == base::Value::Kind::Scalar && !v->quoted) {
    if (v->text == "true") return true;
    if (v->text == "false") return false;
  }
  fail(key, "is " + kind_text(*v), "must be true or false");
}

bool Config::required_flag(std::string_view key) {
  if (!given({key})) fail(key, "missing", "a " + type_ + " config must state it");
  return flag({key}, false);
}

double Config::number(std::string_view key, double fallback) {
  std::string_view used;
  const base::Value* v = pick({key}, used);
  if (v == nullptr) return fallback;
  if (v->kind != base::Value::Kind::Scalar || v->quoted)
    fail(key, "is " + kind_text(*v), "must be a number");
  return base::parse_number(v->text, where(key), -1e12, 1e12);
}

std::string Config::text(Keys keys, std::string_view fallback) {
  std::string_view key;
  const base::Value* v = pick(keys, key);
  if (v == nullptr) return std::string(fallback);
  if (!is_text(*v)) fail(key, "is " + kind_text(*v), "must be a text");
  return v->text;
}

std::vector<std::string> Config::texts(std::string_view key) const {
  const base::Value* v = find(key);
  if (v == nullptr || v->kind == base::Value::Kind::Null) return {};
  if (v->kind != base::Value::Kind::List) fail(key, "is " + kind_text(*v), "must be a list");
  std::vector<std::string> out;
  for (const base::Value& item : v->items) {
    if (!is_text(item)) fail(key, "holds " + kind_text(item), "must be a list of texts");
    out.push_back(item.text);
  }
  return out;
}

std::vector<Size> Config::integers(std::string_view key) const {
  const base::Value* v = find(key);
  if (v == nullptr || v->kind == base::Value::Kind::Null) return {};
  if (v->kind != base::Value::Kind::List) fail(key, "is " + kind_text(*v), "must be a list");
  std::vector<Size> out;
  for (const base::Value& item : v->items) {
    if (item.kind != base::Value::Kind::Scalar || item.quoted)
      fail(key, "holds " + kind_text(item), "must be a list of whole numbers");
    out.push_back(base::parse_integer(item.text, where(key), 0, limits::kVocab));
  }
  return out;
}

std::optional<Config> Config::map(std::string_view key) const {
  const base::Value* v = find(key);
  if (v == nullptr || v->kind == base::Value::Kind::Null) return {};
  if (v->kind != base::Value::Kind::Map) fail(key, "is " + kind_text(*v), "must be an object");
  return Config(*document_, *v, path_.empty() ? std::string(key) : path_ + "." + std::string(key),
                type_);
}

std::string Config::where(std::string_view key) const {
  const base::Value* v = find(key);
  const base::Place place = v != nullptr ? v->place : map_->place;
  return base::place_text(*document_, place) + ": " + (path_.empty() ? "" : path_ + ".") +
         std::string(key);
}

void Config::fail(std::string_view key, const std::string& problem, const std::string& hint) const {
  throw base::Error(where(key), problem, hint);
}

void Config::note_default(std::string_view key, const std::string& value) {
  std::string text = std::string(key) + " = " + value;
  if (std::find(defaulted_.begin(), defaulted_.end(), text) == defaulted_.end())
    defaulted_.push_back(std::move(text));
}

Activation activation_named(const Config& config, std::string_view key, const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Activation>, 14> kNames{{
      {"silu", Activation::Silu},
      {"swish", Activation::Silu},
      {"swiglu", Activation::Silu},
      {"gelu", Activation::Gelu},
      {"gelu_new", Activation::Gelu},
      {"gelu_fast", Activation::Gelu},
      {"gelu_python", Activation::Gelu},
      {"gelu_pytorch_tanh", Activation::Gelu},
      {"gelu_accurate", Activation::Gelu},
      {"quick_gelu", Activation::Gelu},
      {"geglu", Activation::Gelu},
      {"relu", Activation::Relu},
      {"relu2", Activation::SquaredRelu},
      {"squared_relu", Activation::SquaredRelu},
  }};
  std::string all;
  for (const auto& [known, value] : kNames) {
    if (known == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  config.fail(key, "unknown activation " + base::quote(name), "known: " + all);
}

}  // namespace paceline::models::huggingface

// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::base {

std::string shortest(double value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

void JsonWriter::newline() {
  if (indent_ == 0) return;
  if (!levels_.empty() && levels_.back().inline_items) {
    if (out_.back() == ',') out_ += ' ';
    return;
  }
  out_ += '\n';
  out_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    PACELINE_CHECK(out_.empty());  // one value at the top
    return;
  }
  PACELINE_CHECK(levels_.back().array);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  newline();
}

void JsonWriter::begin(char bracket, bool inline_items) {
  before_value();
  const bool inherited = !levels_.empty() && levels_.back().inline_items;
  out_ += bracket;
  levels_.push_back({bracket == '[', inline_items || inherited, true});
}

void JsonWriter::end(char bracket, bool array) {
  PACELINE_CHECK(!levels_.empty() && levels_.back().array == array && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.inline_items) newline();
  out_ += bracket;
}

JsonWriter& JsonWriter::begin_object() { return begin('{', false), *this; }
JsonWriter& JsonWriter::end_object() { return end('}', false), *this; }
JsonWriter& JsonWriter::begin_array(bool inline_items) { return begin('[', inline_items), *this; }
JsonWriter& JsonWriter::end_array() { return end(']', true), *this; }

JsonWriter& JsonWriter::key(std::string_view name) {
  PACELINE_CHECK(!levels_.empty() && !levels_.back().array && !after_key_);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  newline();
  escaped(name);
  out_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out_ += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out_ += "\xEF\xBF\xBD";  // the replacement character: the output stays valid UTF-8
    } else if (byte == '"' || byte == '\\') {
      out_ += {'\\', text[i]};
    } else if (byte == '\n') {
      out_ += "\\n";
    } else if (byte == '\t') {
      out_ += "\\t";
    } else if (byte < 0x20) {
      out_ += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out_ += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out_ += '"';
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  escaped(text);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  PACELINE_CHECK(std::isfinite(number));
  before_value();
  out_ += shortest(number);
  return *this;
}
JsonWriter& JsonWriter::value(std::int64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}
JsonWriter& JsonWriter::value(std::uint64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}
JsonWriter& JsonWriter::value(bool flag) {
  before_value();
  out_ += flag ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::finish() {
  PACELINE_CHECK(levels_.empty() && !after_key_ && !out_.empty());
  std::string document = std::move(out_) + "\n";
  out_.clear();
  return document;
}

}  // namespace paceline::base

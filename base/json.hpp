// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::base {

/// Streaming JSON writer: valid by construction, the same bytes for the same calls. Doubles are
/// written in the shortest form that reads back equal; NaN and infinity are an internal error.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = 2) : indent_(indent) {}  ///< 0 = one line
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array(bool inline_items = false);  ///< inline: the items on one line
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(bool flag);
  JsonWriter& null();
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  /// The finished document with a final newline; all objects and arrays must be closed.
  std::string finish();

 private:
  void before_value();
  void begin(char bracket, bool inline_items);
  void end(char bracket, bool array);
  void newline();
  void escaped(std::string_view text);
  std::string out_;
  struct Level {
    bool array;
    bool inline_items;
    bool empty;
  };
  std::vector<Level> levels_;
  int indent_;
  bool after_key_ = false;
};

/// Shortest text that reads back as the same double ("0.1", "1e-05").
std::string shortest(double value);

/// Writes the whole file or leaves the old one: a temporary in the same folder, then rename.
/// "-" is standard output. Error when the folder is missing or not writable.
void write_file(const std::string& path, std::string_view content);

}  // namespace paceline::base

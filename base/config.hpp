// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

/// Strict reading of YAML and JSON: every value remembers where it stood, every key must be known,
/// every quantity carries its unit. All functions throw base::Error with file:line:column.
namespace paceline::base {

struct Place {
  int line = 0;    ///< from 1; 0 = not from a file (set on the command line)
  int column = 0;  ///< from 1, in bytes
  int file = 0;    ///< 0 = Document::file, k = the k-th merged file
};

struct Field;

/// One node of a parsed document. Scalars keep their text; a reader decides what they mean.
struct Value {
  enum class Kind { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  Place place;
  std::string text;           ///< scalars: the text without quotes
  bool quoted = false;        ///< scalars: written in quotes, hence never a number or a flag
  std::vector<Value> items;   ///< lists
  std::vector<Field> fields;  ///< maps, in file order; keys are unique
};

struct Field {
  std::string key;
  Place place;
  Value value;
};

struct Limits {
  std::size_t bytes = 64u << 20;  ///< of the file, and of all texts after alias expansion
  int depth = 64;
  std::size_t nodes = 4'000'000;  ///< after alias expansion
};

struct Document {
  std::string file;  ///< as shown in messages
  Value root;
  std::vector<std::string> merged{};  ///< files whose values were merged in, see Place::file
};

Document parse_yaml(std::string_view text, std::string file, const Limits& limits = {});
Document parse_json(std::string_view text, std::string file, const Limits& limits = {});
/// By extension: .json goes to the JSON reader, everything else to the YAML reader.
Document read_document(const std::string& path, const Limits& limits = {});
/// "file:line:column", or "--set" for what the command line set.
std::string place_text(const Document& document, Place place);
/// The whole file; an Error when it does not exist, is no regular file or is larger than the limit.
std::string read_file(const std::string& path, std::size_t max_bytes = 64u << 20);

/// `parallel.tp=4` on the tree: makes missing maps on the way, replaces what is there. The value is
/// read as YAML. List items are addressed by number: `stages.0=4`.
void set_path(Document& document, std::string_view path, std::string_view yaml_value);
/// The node at a dotted path, or null.
const Value* find_path(const Value& root, std::string_view path);
/// `overlay` on `base`: maps merge key by key, anything else replaces.
void merge(Value& base, const Value& overlay);
/// The same for another file: messages about its values keep naming that file.
void merge(Document& base, const Document& overlay);

/// Canonical one-line YAML of a tree (keys in alphabetical order, numbers as written): what hashes
/// are made of. Reading it back and printing again gives the same text.
std::string canonical_text(const Value& value);
/// 64-bit FNV-1a as 16 hex digits.
std::string hash_text(std::string_view text);

/// A choice by name: `{"none", Recompute::None}`.
template <class T>
using Named = std::pair<std::string_view, T>;

/// Strict view of one map. Every key read is remembered; done() fails on keys never asked for and
/// names the nearest one that was. Copies share nothing. Document and map must outlive the view.
class Fields {
 public:
  Fields(const Document& document, const Value& map, std::string path = "");

  const std::string& path() const { return path_; }
  const std::string& file() const { return document_->file; }  ///< of the document
  bool has(std::string_view key);                              ///< present and not null
  const Value* find(std::string_view key);                     ///< null when absent
  const Value& at(std::string_view key);                       ///< Error when absent

  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view fallback);
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::int64_t fallback);
  double number(std::string_view key, double low, double high);  ///< dimensionless, finite
  double number(std::string_view key, double low, double high, double fallback);
  bool flag(std::string_view key);
  bool flag(std::string_view key, bool fallback);

  // Quantities: number and unit, "400 Gb/s"; a bare or negative number is an Error.
  Seconds seconds(std::string_view key);
  Seconds seconds(std::string_view key, Seconds fallback);
  Bytes bytes(std::string_view key);
  Bytes bytes(std::string_view key, Bytes fallback);
  BytesPerSecond rate(std::string_view key);
  BytesPerSecond rate(std::string_view key, BytesPerSecond fallback);
  FlopsPerSecond flops_rate(std::string_view key);
  FlopsPerSecond flops_rate(std::string_view key, FlopsPerSecond fallback);
  Watts watts(std::string_view key);
  Watts watts(std::string_view key, Watts fallback);

  template <class T>
  T choice(std::string_view key, std::span<const Named<T>> choices);
  template <class T>
  T choice(std::string_view key, std::span<const Named<T>> choices, T fallback);

  Fields map(std::string_view key);                      ///< Error when absent or no map
  const std::vector<Value>& list(std::string_view key);  ///< Error when absent or no list
  std::vector<std::string> text_list(
      std::string_view key);  ///< absent = empty; a scalar = one item
  /// A strict view of a list item or any other map below this one.
  Fields view(const Value& map, std::string_view name) const;

  /// "file:line:column: path.key", for messages of the caller's own.
  std::string where(std::string_view key) const;
  std::string where(const Value& value, std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string& problem,
                         const std::string& hint = "") const;
  /// Accept and ignore every remaining key (Hugging Face configs hold many that do not matter).
  void ignore_rest() { strict_ = false; }
  void done() const;

 private:
  const Value* lookup(std::string_view key) const;
  const Value& scalar(std::string_view key, std::string_view wanted, bool plain);
  std::size_t choose(std::string_view key, std::span<const std::string_view> names);
  const Document* document_;
  const Value* map_;
  std::string path_;
  bool strict_ = true;
  std::vector<std::string> asked_;
};

/// Scalars outside a map (`where` begins the message), with the same messages: integer, number and
/// quantity parsing.
std::int64_t parse_integer(std::string_view text, const std::string& where, std::int64_t low,
                           std::int64_t high);
double parse_number(std::string_view text, const std::string& where, double low, double high);
Seconds parse_seconds(std::string_view text, const std::string& where);
Bytes parse_bytes(std::string_view text, const std::string& where);
BytesPerSecond parse_rate(std::string_view text, const std::string& where);
FlopsPerSecond parse_flops_rate(std::string_view text, const std::string& where);
Watts parse_watts(std::string_view text, const std::string& where);

/// By edit distance, ignoring case; `nearest` returns the closest of the names or "" when none is
/// close.
std::string nearest(std::string_view word, std::span<const std::string> names);

template <class T>
T Fields::choice(std::string_view key, std::span<const Named<T>> choices) {
  std::vector<std::string_view> names;
  for (const auto& c : choices) names.push_back(c.first);
  return choices[choose(key, names)].second;
}
template <class T>
T Fields::choice(std::string_view key, std::span<const Named<T>> choices, T fallback) {
  return has(key) ? choice(key, choices) : fallback;
}

}  // namespace paceline::base

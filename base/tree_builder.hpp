// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

namespace paceline::base {

/// Builds a Value tree from the events of a reader: the one place that enforces the limits and
/// refuses duplicate keys, so that YAML and JSON behave alike. Errors name the place.
class TreeBuilder {
 public:
  TreeBuilder(const std::string& file, const Limits& limits) : file_(file), limits_(limits) {}

  /// True when the next event must be the key of a map.
  bool wants_key() const { return !frames_.empty() && frames_.back().wants_key; }
  void key(Place place, const std::string& text);
  void null(Place place, std::uint64_t anchor = 0);
  void scalar(Place place, const std::string& text, bool quoted, std::uint64_t anchor = 0);
  void begin(Place place, Value::Kind kind, std::uint64_t anchor = 0);
  void end();
  /// A copy of the node that `anchor` (not 0) named; its places are those of the original.
  void alias(Place place, std::uint64_t anchor);
  Value take() { return std::move(root_); }
  [[noreturn]] void fail(Place place, const std::string& problem,
                         const std::string& hint = "") const;

 private:
  struct Weight {
    std::size_t nodes = 0, bytes = 0;
    int height = 0;
  };
  struct Frame {
    Value value;
    bool wants_key = false;
    std::set<std::string> keys;
    Weight weight;
    std::uint64_t anchor = 0;
  };
  struct Anchored {
    Value value;
    Weight weight;
  };

  void charge(Place place, const Weight& weight);
  void add(Value value, const Weight& weight, std::uint64_t anchor);

  const std::string& file_;
  const Limits& limits_;
  Value root_;
  std::vector<Frame> frames_;
  std::map<std::uint64_t, Anchored> anchors_;
  std::size_t nodes_ = 0, bytes_ = 0;
};

/// Refuses ill-formed UTF-8 and control characters, with the place; returns the text without a byte
/// order mark. The text begins on `first_line` of the file.
std::string_view checked_text(std::string_view text, const std::string& file, const Limits& limits,
                              int first_line = 1);
/// Line and column of a byte offset.
Place place_of(std::string_view text, std::size_t offset, int first_line = 1);

}  // namespace paceline::base

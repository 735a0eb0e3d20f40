// SPDX-License-Identifier: Apache-2.0
#include "base/tree_builder.hpp"

#include <algorithm>

#include "base/message.hpp"

namespace paceline::base {
namespace {

constexpr std::size_t kLongestKey = 256;  // keeps printed keys below YAML's 1024 characters

std::string at(const std::string& file, Place place) {
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

}  // namespace

void TreeBuilder::fail(Place place, const std::string& problem, const std::string& hint) const {
  throw Error(at(file_, place), problem, hint);
}

void TreeBuilder::charge(Place place, const Weight& weight) {
  nodes_ += weight.nodes;
  bytes_ += weight.bytes;
  if (nodes_ > limits_.nodes) {
    fail(place, "more than " + std::to_string(limits_.nodes) + " values (aliases expanded)");
  }
  if (bytes_ > limits_.bytes) {
    fail(place, "more than " + std::to_string(limits_.bytes) + " bytes of text (aliases expanded)");
  }
  if (static_cast<int>(frames_.size()) + weight.height > limits_.depth) {
    fail(place, "nested deeper than " + std::to_string(limits_.depth) + " levels");
  }
}

void TreeBuilder::key(Place place, const std::string& text) {
  Frame& frame = frames_.back();
  if (text.empty()) fail(place, "an empty key");
  if (text.size() > kLongestKey) {
    fail(place, "a key of " + std::to_string(text.size()) + " bytes",
         "keys have at most " + std::to_string(kLongestKey));
  }
  const auto control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), control)) {
    fail(place, "control character in the key " + quote(text));
  }
  if (!frame.keys.insert(text).second) {
    const auto first = std::find_if(frame.value.fields.begin(), frame.value.fields.end(),
                                    [&](const Field& f) { return f.key == text; });
    fail(place, "duplicate key " + quote(text),
         "it already stands on line " + std::to_string(first->place.line));
  }
  const Weight weight{0, text.size(), 0};
  charge(place, weight);
  frame.weight.bytes += text.size();
  frame.value.fields.push_back({text, place, {}});
  frame.wants_key = false;
}

void TreeBuilder::add(Value value, const Weight& weight, std::uint64_t anchor) {
  if (anchor != 0) {
    charge(value.place, weight);  // the copy that later aliases are made from
    anchors_[anchor] = {value, weight};
  }
  if (frames_.empty()) {
    root_ = std::move(value);
    return;
  }
  Frame& frame = frames_.back();
  frame.weight.nodes += weight.nodes;
  frame.weight.bytes += weight.bytes;
  frame.weight.height = std::max(frame.weight.height, weight.height + 1);
  if (frame.value.kind == Value::Kind::List) {
    frame.value.items.push_back(std::move(value));
  } else {
    frame.value.fields.back().value = std::move(value);
    frame.wants_key = true;
  }
}

void TreeBuilder::null(Place place, std::uint64_t anchor) {
  const Weight weight{1, 0, 0};
  charge(place, weight);
  // YAML places a missing value at whatever follows; its key is where the reader looks.
  if (!frames_.empty() && frames_.back().value.kind == Value::Kind::Map) {
    place = frames_.back().value.fields.back().place;
  }
  Value value;
  value.place = place;
  add(std::move(value), weight, anchor);
}

void TreeBuilder::scalar(Place place, const std::string& text, bool quoted, std::uint64_t anchor) {
  if (text.find('\0') != std::string::npos) fail(place, "NUL character in a text");
  const Weight weight{1, text.size(), 0};
  charge(place, weight);
  Value value;
  value.kind = Value::Kind::Scalar;
  value.place = place;
  value.text = text;
  value.quoted = quoted;
  add(std::move(value), weight, anchor);
}

void TreeBuilder::begin(Place place, Value::Kind kind, std::uint64_t anchor) {
  charge(place, {1, 0, 1});
  Frame frame;
  frame.value.kind = kind;
  frame.value.place = place;
  frame.wants_key = kind == Value::Kind::Map;
  frame.weight = {1, 0, 1};
  frame.anchor = anchor;
  frames_.push_back(std::move(frame));
}

void TreeBuilder::end() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  add(std::move(frame.value), frame.weight, frame.anchor);
}

void TreeBuilder::alias(Place place, std::uint64_t anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) fail(place, "an alias inside the value it names");
  charge(place, found->second.weight);
  add(found->second.value, found->second.weight, 0);
}

Place place_of(std::string_view text, std::size_t offset, int first_line) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 = 0
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + first_line,
          static_cast<int>(offset - start) + 1};
}

std::string_view checked_text(std::string_view text, const std::string& file, const Limits& limits,
                              int first_line) {
  if (text.size() > limits.bytes) {
    throw Error(file, "larger than " + std::to_string(limits.bytes) + " bytes");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      throw Error(at(file, place_of(text, i, first_line)), "not valid UTF-8",
                  "save the file as UTF-8");
    }
    const char c = text[i];
    if (c >= 0 && c < 0x20 && c != '\n' && c != '\r' && c != '\t') {
      throw Error(at(file, place_of(text, i, first_line)),
                  "control character " + quote(text.substr(i, 1)), "is this a text file?");
    }
    i += length;
  }
  return text;
}

}  // namespace paceline::base

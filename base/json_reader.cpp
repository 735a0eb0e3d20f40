// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/json_lines.hpp"
#include "base/message.hpp"
#include "base/tree_builder.hpp"

namespace paceline::base {
namespace {

/// Events come in the order of the tokens, each already validated, without their position. The
/// cursor walks the same tokens a second time to know where each one stands.
class JsonEvents {
 public:
  JsonEvents(std::string_view text, TreeBuilder& tree, int first_line)
      : text_(text), tree_(tree), first_line_(first_line), line_(first_line) {}

  bool null() { return tree_.null(next()), true; }
  bool boolean(bool) { return plain(); }
  bool number_integer(std::int64_t) { return plain(); }
  bool number_unsigned(std::uint64_t) { return plain(); }
  bool number_float(double, const std::string&) { return plain(); }
  bool string(std::string& text) { return tree_.scalar(next(), text, true), true; }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // not in the text format
  bool start_object(std::size_t) { return tree_.begin(next(), Value::Kind::Map), true; }
  bool key(std::string& text) { return tree_.key(next(), text), true; }
  bool end_object() { return next(), tree_.end(), true; }
  bool start_array(std::size_t) { return tree_.begin(next(), Value::Kind::List), true; }
  bool end_array() { return next(), tree_.end(), true; }
  bool parse_error(std::size_t position, const std::string& token, const std::exception& error);

 private:
  /// A number or flag, with the text it was written as.
  bool plain() {
    const Place place = next();
    return tree_.scalar(place, std::string(token_), false), true;
  }
  /// Moves behind the next token, which token_ then holds, and returns where it begins.
  Place next();
  std::size_t token_end(std::size_t begin) const;

  std::string_view text_;
  std::string_view token_;
  TreeBuilder& tree_;
  std::size_t at_ = 0, line_start_ = 0;
  int first_line_, line_;
};

std::size_t JsonEvents::token_end(std::size_t begin) const {
  std::size_t end = begin + 1;
  if (text_[begin] == '"') {
    while (text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    return end + 1;
  }
  if (std::string_view("{}[]").find(text_[begin]) != std::string_view::npos) return end;
  return std::min(text_.find_first_of(" \t\r\n,:{}[]\"", begin), text_.size());
}

Place JsonEvents::next() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (std::string_view(" \t\r,:").find(text_[at_]) == std::string_view::npos) {
      break;
    }
  }
  PACELINE_CHECK(at_ < text_.size());
  const Place place{line_, static_cast<int>(at_ - line_start_) + 1};
  const std::size_t end = token_end(at_);
  token_ = text_.substr(at_, end - at_);
  at_ = end;
  return place;
}

bool JsonEvents::parse_error(std::size_t position, const std::string&,
                             const std::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
  // value - invalid literal; last read: '...'; expected ...", where what was last read goes back to
  // an earlier token. The offending one begins at the cursor and ends at `position`.
  std::string problem = error.what();
  for (const std::string_view start : {"] ", "parse error at", ": "}) {
    const auto found = problem.find(start);
    if (found == std::string::npos) break;
    problem.erase(0, start.starts_with("parse") ? found : found + start.size());
  }
  const std::size_t last = std::min(position, text_.size()) - (position > 0 ? 1 : 0);
  const std::size_t begin = text_.find_first_not_of(" \t\r\n,:", at_);
  const bool in_string = problem.find("invalid string") != std::string::npos;
  const std::size_t offset = in_string ? last : std::min(begin, last);
  if (const auto cut = problem.find("; last read: '"); cut != std::string::npos) {
    const auto rest = problem.rfind("'; expected");
    problem.erase(cut, rest == std::string::npos || rest < cut ? rest : rest + 1 - cut);
  }
  if (const auto literal = problem.find("invalid literal");
      literal != std::string::npos && begin < text_.size()) {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,:{}[]\"", begin), text_.size());
    problem.insert(literal + 15, quote(text_.substr(begin, end - begin)));
    problem.insert(literal + 15, " ");
  }
  tree_.fail(place_of(text_, offset, first_line_), one_line(problem));
}

Document parse_from(std::string_view text, std::string file, const Limits& limits, int line) {
  text = checked_text(text, file, limits, line);
  TreeBuilder tree(file, limits);
  JsonEvents events(text, tree, line);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return {file, tree.take()};
}

}  // namespace

Document parse_json(std::string_view text, std::string file, const Limits& limits) {
  return parse_from(text, std::move(file), limits, 1);
}

Document parse_json_line(std::string_view text, std::string file, int line, const Limits& limits) {
  return parse_from(text, std::move(file), limits, line);
}

}  // namespace paceline::base

// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/xml.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kMaxDepth = 64, kMaxElements = 100'000;

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<XmlElement> read() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      if (text_[at_] != '<') fail("text outside of tags", "only elements with attributes are read");
      if (skip("<?", "?>") || skip("<!--", "-->")) continue;
      if (starts("<!")) fail("a document type", "take it out");
      if (starts("</"))
        close();
      else
        open();
    }
    if (!open_.empty())
      throw base::Error(elements_[static_cast<std::size_t>(open_.back())].where,
                        "element " +
                            base::quote(elements_[static_cast<std::size_t>(open_.back())].name) +
                            " is not closed");
    if (elements_.empty()) fail("no element");
    return std::move(elements_);
  }

 private:
  std::string where(std::size_t at) {
    if (at < seen_) seen_ = line_start_ = 0, line_ = 1;
    for (; seen_ < at; ++seen_) {
      if (text_[seen_] != '\n') continue;
      ++line_;
      line_start_ = seen_ + 1;
    }
    return file_ + ":" + std::to_string(line_) + ":" + std::to_string(at - line_start_ + 1);
  }
  [[noreturn]] void fail(const std::string& problem, const std::string& hint = "") {
    throw base::Error(where(std::min(at_, text_.size())), problem, hint);
  }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip_blanks() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
  }
  bool skip(std::string_view begin, std::string_view end) {
    if (!starts(begin)) return false;
    const auto stop = text_.find(end, at_ + begin.size());
    if (stop == std::string_view::npos) fail("'" + std::string(end) + "' is missing");
    at_ = stop + end.size();
    return true;
  }
  std::string name() {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    };
    const std::size_t begin = at_;
    while (at_ < text_.size() && letter(text_[at_])) ++at_;
    if (at_ == begin || at_ - begin > 100) fail("no name of an element or attribute");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c) fail(std::string("'") + c + "' is missing");
    ++at_;
  }

  std::pair<std::string, std::string> attribute() {
    std::pair<std::string, std::string> result{name(), ""};
    skip_blanks();
    expect('=');
    skip_blanks();
    expect('"');
    const auto stop = text_.find('"', at_);
    if (stop == std::string_view::npos) fail("'\"' is missing");
    const std::string_view value = text_.substr(at_, stop - at_);
    if (value.find_first_of("<&") != std::string_view::npos) fail("'<' or an entity in a value");
    result.second = std::string(value);
    at_ = stop + 1;
    return result;
  }

  void open() {
    XmlElement element;
    element.where = where(at_);
    element.parent = open_.empty() ? -1 : open_.back();
    if (open_.empty() && !elements_.empty()) fail("a second root element");
    if (open_.size() >= kMaxDepth) fail("more than 64 levels");
    if (elements_.size() >= kMaxElements) fail("more than 100000 elements");
    ++at_;
    element.name = name();
    for (skip_blanks(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/';
         skip_blanks()) {
      const auto here = attribute();
      if (element.find(here.first)) fail("attribute " + base::quote(here.first) + " stands twice");
      element.attributes.push_back(here);
    }
    const bool empty = at_ < text_.size() && text_[at_] == '/';
    if (empty) ++at_;
    expect('>');
    elements_.push_back(std::move(element));
    if (!empty) open_.push_back(static_cast<int>(elements_.size()) - 1);
  }

  void close() {
    if (open_.empty()) fail("nothing to close");
    const std::string& opened = elements_[static_cast<std::size_t>(open_.back())].name;
    const std::size_t begin = at_;
    at_ += 2;
    if (name() != opened) {
      at_ = begin;
      fail("closes another element than " + base::quote(opened));
    }
    skip_blanks();
    expect('>');
    open_.pop_back();
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t seen_ = 0, line_start_ = 0, line_ = 1;  ///< of the last place named
  std::vector<XmlElement> elements_;
  std::vector<int> open_;
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

std::vector<XmlElement> parse_xml(std::string_view text, const std::string& file) {
  return XmlReader(text, file).read();
}

}  // namespace paceline::models

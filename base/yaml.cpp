// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "base/message.hpp"
#include "base/tree_builder.hpp"

namespace paceline::base {
namespace {

Place from_mark(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

/// yaml-cpp's own tags: "?" for plain scalars, "!" for quoted and block ones, "" or "?" for
/// containers. Anything else was written in the file.
class YamlEvents final : public YAML::EventHandler {
 public:
  explicit YamlEvents(TreeBuilder& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) {
      tree_.fail(from_mark(mark), "text after the end of the document",
                 "check indentation; a file holds one document");
    }
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.wants_key()) tree_.fail(from_mark(mark), "an empty key");
    tree_.null(from_mark(mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.wants_key()) tree_.fail(from_mark(mark), "an alias as a key", "write the key");
    tree_.alias(from_mark(mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool quoted = tag == "!";
    if (tag != "?" && !quoted) refuse_tag(mark, tag);
    if (!tree_.wants_key()) return tree_.scalar(from_mark(mark), text, quoted, anchor);
    if (text == "<<" && !quoted) {
      tree_.fail(from_mark(mark), "the merge key '<<' is not supported", "write the keys out");
    }
    if (anchor != 0) tree_.fail(from_mark(mark), "an anchor on a key", "put it on the value");
    tree_.key(from_mark(mark), text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value::Kind::List);
  }
  void OnSequenceEnd() override { tree_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value::Kind::Map);
  }
  void OnMapEnd() override { tree_.end(); }

 private:
  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             Value::Kind kind) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse_tag(mark, tag);
    if (tree_.wants_key()) {
      tree_.fail(from_mark(mark), "a list or map as a key",
                 "keys are plain text; is a bracket not closed, or no blank behind a ':'?");
    }
    tree_.begin(from_mark(mark), kind, anchor);
  }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    tree_.fail(from_mark(mark), "the tag " + quote(tag) + " is not supported",
               "write the value without a tag");
  }

  TreeBuilder& tree_;
  bool started_ = false;
};

std::string hint_for(const std::string& problem, std::string_view text, const YAML::Mark& mark) {
  const auto says = [&](std::string_view part) { return problem.find(part) != std::string::npos; };
  const auto column = static_cast<std::size_t>(std::max(mark.column, 0));
  const auto here = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text.size());
  const std::string_view line = text.substr(here - std::min(column, here), column);
  const bool indented = line.find_first_not_of(" \t") == std::string_view::npos;
  if (says("illegal tab") || (indented && line.find('\t') != std::string_view::npos)) {
    return "indent with spaces, not tabs";
  }
  if (problem == "illegal map value") {
    return "is the line indented too far? A ': ' within a value needs quotes";
  }
  if (says("end of map") || says("end of sequence")) return "check indentation and brackets";
  return "";
}

}  // namespace

Document parse_yaml(std::string_view text, std::string file, const Limits& limits) {
  text = checked_text(text, file, limits);
  TreeBuilder tree(file, limits);
  YamlEvents events(tree);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& e) {
    const std::string problem = one_line(e.msg);
    if (e.mark.is_null()) throw Error(file, problem);
    tree.fail(from_mark(e.mark), problem, hint_for(problem, text, e.mark));
  }
  Document document{file, tree.take()};
  if (document.root.place.line == 0) document.root.place = {1, 1};
  return document;
}

}  // namespace paceline::base

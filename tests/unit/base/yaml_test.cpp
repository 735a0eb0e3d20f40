// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <ctime>

#include "base/config.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

namespace {

std::string canonical(std::string_view text) {
  return canonical_text(parse_yaml(text, "x.yaml").root);
}

std::string many(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

}  // namespace

TEST_CASE("YAML of all shapes becomes the same plain tree", "[base]") {
  struct Row {
    std::string text, canonical;
  };
  const auto row = GENERATE(values<Row>({
      {"a: 1", "{a: 1}"},
      {"b: x\na: 400 Gb/s", "{a: 400 Gb/s, b: x}"},
      {"a: {b: [1, 2.50, -3], c: {}}\nd: []", "{a: {b: [1, 2.50, -3], c: {}}, d: []}"},
      {"a:\n- 1\n- b: 2\n  c: 3\n", "{a: [1, {b: 2, c: 3}]}"},
      {"a: 'it''s'", "{a: \"it's\"}"},
      {"a: \"1\"", "{a: \"1\"}"},
      {"a: \"\\u00e9\\t\"", "{a: \"\xC3\xA9\\x09\"}"},
      {"a: |\n  x\n  y\n", "{a: \"x\\x0ay\\x0a\"}"},
      {"a: >-\n  x\n  y\n", "{a: \"x y\"}"},
      {"a: ~\nb: null\nc:\nd: ''", "{a: null, b: null, c: null, d: \"\"}"},
      {"a: yes # comment", "{a: yes}"},
      {"\xEF\xBB\xBF"
       "a: 1",
       "{a: 1}"},
      {"a: 1\r\nb:\r\n  c: 2\r\n", "{a: 1, b: {c: 2}}"},
      {"a: &x {b: 1}\nc: *x", "{a: {b: 1}, c: {b: 1}}"},
      {"%YAML 1.2\n---\na: 1\n...\n", "{a: 1}"},
      {"", "null"},
      {"# nothing\n", "null"},
      {"[1, 2]", "[1, 2]"},
  }));
  INFO(row.text);
  CHECK(canonical(row.text) == row.canonical);
  CHECK(canonical(row.canonical) == row.canonical);
}

TEST_CASE("every YAML value knows its line and column", "[base]") {
  const Document d = parse_yaml("a: 1\nb:\n  c: [x, {d: 'y'}]\n  e:\nf: g\n", "x.yaml");
  const auto place = [&](const char* path) {
    const Value* value = find_path(d.root, path);
    return value == nullptr ? "none" : place_text(d, value->place);
  };
  CHECK(place("a") == "x.yaml:1:4");
  CHECK(place("b") == "x.yaml:3:3");
  CHECK(place("b.c") == "x.yaml:3:6");
  CHECK(place("b.c.0") == "x.yaml:3:7");
  CHECK(place("b.c.1.d") == "x.yaml:3:14");
  CHECK(place("b.e") == "x.yaml:4:3");
  CHECK(place("f") == "x.yaml:5:4");
  CHECK(d.root.fields.at(1).place.line == 2);
  CHECK(d.root.fields.at(1).place.column == 1);
}

TEST_CASE("bad YAML is refused in one line that names the place", "[base]") {
  struct Row {
    std::string text, message;
  };
  const auto row = GENERATE(values<Row>({
      {"a: 1\nb: 2\na: 3", "x.yaml:3:1: duplicate key 'a'; it already stands on line 1"},
      {"p: {tp: 1, tp: 2}", "x.yaml:1:12: duplicate key 'tp'"},
      {"a: 1\n'a': 2", "x.yaml:2:1: duplicate key 'a'"},
      {"a: 1\n---\nb: 2",
       "x.yaml:2:1: text after the end of the document; check indentation; a file holds one "
       "document"},
      {"- a\nb: 1", "x.yaml:2:1: text after the end of the document"},
      {"<<: {a: 1}", "x.yaml:1:1: the merge key '<<' is not supported; write the keys out"},
      {"a: !!str 1", "the tag 'tag:yaml.org,2002:str' is not supported"},
      {"a: !x [1]", "the tag '!x' is not supported"},
      {"? [a]\n: 1", "x.yaml:1:3: a list or map as a key"},
      {"? {a: 1}\n: 1", "a list or map as a key"},
      {": 1", "an empty key"},
      {"'': 1", "an empty key"},
      {"~: 1", "an empty key"},
      {"a: &x 1\n*x : 2", "x.yaml:2:1: an alias as a key"},
      {"&x a: 1", "an anchor on a key"},
      {"a: *x", "x.yaml:1:4: the referenced anchor is not defined"},
      {"a: &x [1, *x]", "x.yaml:1:11: an alias inside the value it names"},
      {"a:\n\t- b", "x.yaml:2:2: illegal block entry; indent with spaces, not tabs"},
      {"a: b: c",
       "x.yaml:1:5: illegal map value; is the line indented too far? A ': ' within a value needs "
       "quotes"},
      {"a: [1, 2", "end of sequence flow not found; check indentation and brackets"},
      {"a: {b: 1", "end of map flow not found; check indentation and brackets"},
      {"a: 'b", "illegal EOF in scalar"},
      {"a: 1\n b: 2", "x.yaml:2:3: "},
      {"a: @b", "x.yaml:1:4: "},
      {"a: \"\\q\"", "unknown escape character: q"},
      {"a: \xFF", "x.yaml:1:4: not valid UTF-8; save the file as UTF-8"},
      {"\xFF\xFE"
       "a",
       "x.yaml:1:1: not valid UTF-8"},
      {"a: \xC0\x80", "not valid UTF-8"},
      {"a: \xED\xA0\x80", "not valid UTF-8"},
      {"a: \xF4\x90\x80\x80", "not valid UTF-8"},
      {"a: \xE2\x82", "not valid UTF-8"},
      {std::string("a: 1\nb: \0", 9), "x.yaml:2:4: control character '\\x00'"},
      {"a: \x04", "control character '\\x04'"},
      {"a: \"\\0\"", "NUL character in a text"},
      {"\"a\\n\": 1", "control character in the key 'a\\n'"},
      {std::string(300, 'k') + ": 1", "a key of 300 bytes; keys have at most 256"},
      {"a: " + std::string(100, '[') + std::string(100, ']'), "nested deeper than 64 levels"},
      {many("- ", 100'000), "x.yaml:1:129: nested deeper than 64 levels"},
  }));
  INFO(row.text.substr(0, 200));
  const std::string message = message_of([&] { parse_yaml(row.text, "x.yaml"); });
  CHECK_THAT(message, Catch::StartsWith("x.yaml:") && Catch::Contains(row.message));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("aliases cannot multiply a small file into a large tree", "[base]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  std::string tower = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string name = "a" + std::to_string(i), last = "*a" + std::to_string(i - 1);
    tower += name + ": &" + name + " [" + last + "]\n";
    if (i < 12) {
      bomb += name + ": &" + name + " [";
      for (int k = 0; k < 10; ++k) bomb += last + (k < 9 ? ", " : "]\n");
    }
  }
  CHECK_THAT(message_of([&] { parse_yaml(bomb, "x.yaml"); }),
             Catch::Contains("more than 4000000 values (aliases expanded)"));
  CHECK_THAT(message_of([&] { parse_yaml(tower, "x.yaml"); }),
             Catch::Contains("nested deeper than 64 levels"));
  std::string text = "a: &a " + std::string(10'000, 'x') + "\nb: [";
  for (int i = 0; i < 200; ++i) text += "*a, ";
  const Limits small{.bytes = 1'000'000};
  CHECK_THAT(message_of([&] { parse_yaml(text + "]", "x.yaml", small); }),
             Catch::Contains("more than 1000000 bytes of text"));
}

TEST_CASE("hostile YAML ends quickly", "[base]") {
  std::string keys;
  for (int i = 0; i < 20'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  for (const std::string& text :
       {many("[", 200'000), many("{", 200'000), many("- ", 100'000), many("? ", 100'000),
        many("a: ", 60'000), many("&a ", 60'000), many("!a ", 60'000), many("[]", 100'000),
        many("\n", 200'000), many("- a\n", 50'000), many("'", 200'000), many("a\n", 50'000),
        many("#", 200'000), many("{a: ", 50'000), many("---\n", 50'000), keys}) {
    INFO(text.substr(0, 20));
    const std::clock_t start = std::clock();  // processor time: a busy machine is no fault
    message_of([&] { parse_yaml(text, "x.yaml"); });
    CHECK(std::clock() - start < 10 * CLOCKS_PER_SEC);
  }
}

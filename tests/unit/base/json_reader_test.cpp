// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/config.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

TEST_CASE("JSON and YAML give the same tree, numbers as written", "[base]") {
  const Document d = parse_json(
      "{\"b\": [1, -2.50, 1E5, 18446744073709551615, -0],\n"
      " \"a\": {\"t\": true, \"f\": false, \"n\": null, \"s\": \"400 Gb/s\", \"e\": {}, \"l\": "
      "[]}}",
      "x.json");
  CHECK(canonical_text(d.root) ==
        "{a: {e: {}, f: false, l: [], n: null, s: \"400 Gb/s\", t: true}, "
        "b: [1, -2.50, 1E5, 18446744073709551615, -0]}");
}

TEST_CASE("JSON escapes and surrogate pairs become UTF-8", "[base]") {
  const Document d = parse_json(R"({"a\u00e9": "\ud83d\ude00\"\\\/\n\t"})", "x.json");
  CHECK(d.root.fields.at(0).key == "a\xC3\xA9");
  CHECK(d.root.fields.at(0).value.text == "\xF0\x9F\x98\x80\"\\/\n\t");
}

TEST_CASE("every JSON value knows its line and column", "[base]") {
  const Document d = parse_json(
      "\xEF\xBB\xBF{\n  \"a\" :\t{\"b\\\"}\": [ 1 ,-2,\r\n\"x,]\", {}] },\n\"c\":null}", "x.json");
  const auto place = [&](const char* path) {
    const Value* value = find_path(d.root, path);
    return value == nullptr ? "none" : place_text(d, value->place);
  };
  CHECK(place_text(d, d.root.place) == "x.json:1:1");
  CHECK(place("a") == "x.json:2:9");
  CHECK(place("a.b\"}") == "x.json:2:18");
  CHECK(place("a.b\"}.0") == "x.json:2:20");
  CHECK(place("a.b\"}.1") == "x.json:2:23");
  CHECK(place("a.b\"}.2") == "x.json:3:1");
  CHECK(place("a.b\"}.3") == "x.json:3:8");
  CHECK(place_text(d, d.root.fields.at(1).place) == "x.json:4:1");
}

TEST_CASE("bad JSON is refused in one line that names the place", "[base]") {
  struct Row {
    std::string text, message;
  };
  const auto row = GENERATE(values<Row>({
      {"{\"a\": 1,\n \"a\": 2}", "x.json:2:2: duplicate key 'a'; it already stands on line 1"},
      {"", "x.json:1:1: syntax error while parsing value - unexpected end of input"},
      {"{\"a\": }", "x.json:1:7: syntax error while parsing value - unexpected '}'"},
      {"{\"a\": 1,}", "x.json:1:9: syntax error while parsing object key - unexpected '}'"},
      {"[1\n2]", "x.json:2:1: syntax error while parsing array - unexpected number literal"},
      {"{\"a\": 1}\n}", "x.json:2:1: syntax error while parsing value - unexpected '}'"},
      {"{\"a\": 1} x", "x.json:1:10: "},
      {"{\"a\": NaN}", "x.json:1:7: syntax error while parsing value - invalid literal 'NaN'"},
      {"{\"a\": Infinity}", "invalid literal"},
      {"{\"a\": 1e400}", "number overflow parsing '1e400'"},
      {"[1,,2]", "x.json:1:4: "},
      {"{\"a\" 1}", "x.json:1:6: "},
      {"{\"a\": 01}", "x.json:1:8: "},
      {"{\"a\": +1}", "invalid literal"},
      {"{\"a\": 0x10}", "x.json:1:"},
      {"{'a': 1}", "x.json:1:2: "},
      {"{a: 1}", "x.json:1:2: "},
      {"// no\n{}", "x.json:1:1: "},
      {"{\"a\": \"\\ud83d\"}", "surrogate"},
      {"{\"a\": \"\\x\"}", "forbidden character after backslash"},
      {"{\"a\": \"x\ny\"}", "control character U+000A (LF) must be escaped"},
      {"{\"a\": \"\\u0000\"}", "x.json:1:7: NUL character in a text"},
      {"{\"a\\n\": 1}", "control character in the key 'a\\n'"},
      {"{\"\": 1}", "an empty key"},
      {"{\"a\": \"\xFF\"}", "x.json:1:8: not valid UTF-8"},
      {std::string("{\"a\": \0}", 8), "x.json:1:7: control character '\\x00'"},
      {std::string(100'000, '['), "x.json:1:65: nested deeper than 64 levels"},
      {"{\"" + std::string(300, 'k') + "\": 1}", "a key of 300 bytes"},
  }));
  INFO(row.text.substr(0, 200));
  const std::string message = message_of([&] { parse_json(row.text, "x.json"); });
  CHECK_THAT(message, Catch::StartsWith("x.json:") && Catch::Contains(row.message));
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("the number of JSON values and bytes is limited", "[base]") {
  const Limits small{.bytes = 20, .nodes = 3};
  CHECK(message_of([&] { parse_json("[1, 2]", "x.json", small); }).empty());
  CHECK(message_of([&] { parse_json("[1, 2, 3]", "x.json", small); }) ==
        "x.json:1:8: more than 3 values (aliases expanded)");
  CHECK(message_of([&] { parse_json("[1,                    2]", "x.json", small); }) ==
        "x.json: larger than 20 bytes");
}

// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/config.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

namespace {

std::string with(const std::string& text, std::string_view path, std::string_view value) {
  Document d = parse_yaml(text, "x.yaml");
  set_path(d, path, value);
  return canonical_text(d.root);
}

}  // namespace

TEST_CASE("a path sets a value, making maps on the way", "[base]") {
  CHECK(with("a: 1", "a", "2") == "{a: 2}");
  CHECK(with("a: 1", "b", "x") == "{a: 1, b: x}");
  CHECK(with("a: {b: 1}", "a.c", "2") == "{a: {b: 1, c: 2}}");
  CHECK(with("", "a.b.c", "400 Gb/s") == "{a: {b: {c: 400 Gb/s}}}");
  CHECK(with("a:", "a.b", "1") == "{a: {b: 1}}");
  CHECK(with("a: [1, 2]", "a.1", "{b: 3}") == "{a: [1, {b: 3}]}");
  CHECK(with("a: [{b: 1}]", "a.0.b", "[]") == "{a: [{b: []}]}");
  CHECK(with("a: {b: 1}", "a", "") == "{a: null}");
  CHECK(with("a: 1", "a", "'2'") == "{a: \"2\"}");
}

TEST_CASE("a path that leads nowhere is refused", "[base]") {
  const auto setting = [](std::string_view path, std::string_view value) {
    return message_of([&] { with("a: {b: 1, c: [1, 2]}", path, value); });
  };
  CHECK(setting("", "1") == "--set : not a path; write it as parallel.tp=4");
  CHECK(setting("a..b", "1") == "--set a..b: not a path; write it as parallel.tp=4");
  CHECK(setting(".a", "1") == "--set .a: not a path; write it as parallel.tp=4");
  CHECK(setting("a b", "1") == "--set a b: not a path; write it as parallel.tp=4");
  CHECK(setting("a\xFF", "1") == "--set a\\xff: not a path; write it as parallel.tp=4");
  CHECK(setting("a.b.x", "1") == "--set a.b.x: a.b is neither a map nor a list");
  CHECK(setting("a.c.2", "1") ==
        "--set a.c.2: '2' is no item of the list a.c; it has 2 items, counted from 0");
  CHECK_THAT(setting("a.c.-1", "1"), Catch::Contains("'-1' is no item"));
  CHECK_THAT(setting("a.c.0x", "1"), Catch::Contains("'0x' is no item"));
  CHECK_THAT(setting("a.b", "[1"), Catch::StartsWith("--set a.b:1:"));
  CHECK_THAT(setting("a.b", "{x: 1, x: 2}"), Catch::Contains("duplicate key 'x'"));
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  CHECK_THAT(setting(deep, "1"), Catch::Contains("path too long"));
}

TEST_CASE("messages about a set value name the command line, not the file", "[base]") {
  Document d = parse_yaml("p: {tp: 1}", "x.yaml");
  set_path(d, "p.tp", "x");
  set_path(d, "q.r", "1");
  CHECK(message_of([&] { Fields(d, d.root).map("p").integer("tp", 1, 8); }) ==
        "--set: p.tp: 'x' is not a whole number; write decimal digits, without separators");
  CHECK(message_of([&] { Fields(d, d.root).map("q").text("s"); }) == "--set: q.s: is missing");
}

TEST_CASE("paths find values in maps and lists", "[base]") {
  const Document d = parse_yaml("a: {b: [x, {c: y}]}", "x.yaml");
  CHECK(find_path(d.root, "a.b.0")->text == "x");
  CHECK(find_path(d.root, "a.b.1.c")->text == "y");
  for (const char* path : {"", "b", "a.", "a.b.2", "a.b.x", "a.b.0.x", "a.b.-1", "a.b.1c"}) {
    INFO(path);
    CHECK(find_path(d.root, path) == nullptr);
  }
}

TEST_CASE("merging goes key by key and remembers the files", "[base]") {
  Document a = parse_yaml("x: {p: 1, q: 2}\ny: [1, 2]\nz: 1", "a.yaml");
  const Document b = parse_yaml("# b\nx: {q: three, r: 4}\ny: [3]\nw: {v: 5}", "b.yaml");
  Document c = parse_yaml("x: {s: six}", "c.yaml");
  merge(c, b);
  merge(a, c);
  CHECK(canonical_text(a.root) == "{w: {v: 5}, x: {p: 1, q: three, r: 4, s: six}, y: [3], z: 1}");
  Fields x = Fields(a, a.root).map("x");
  CHECK(x.where("p") == "a.yaml:1:8: x.p");
  CHECK(x.where("q") == "b.yaml:2:8: x.q");
  CHECK(x.where("s") == "c.yaml:1:8: x.s");
}

TEST_CASE("the canonical text depends on the content alone", "[base]") {
  const auto canonical = [](const char* text) {
    return canonical_text(parse_yaml(text, "x.yaml").root);
  };
  CHECK(canonical("b: 1\na: {d: 2, c: 3}") == canonical("a:\n  c: 3\n  d: 2\nb: 1 # comment"));
  CHECK(canonical("a: 1") != canonical("a: 1.0"));
  CHECK(canonical("a: 1") != canonical("a: '1'"));
  CHECK(canonical("a: null") != canonical("a: 'null'"));
  CHECK(canonical("a: [b, c]") != canonical("a: 'b, c'"));
}

TEST_CASE("hashes are 64-bit FNV-1a", "[base]") {
  // Reference values: draft-eastlake-fnv, test vectors.
  CHECK(hash_text("") == "cbf29ce484222325");
  CHECK(hash_text("a") == "af63dc4c8601ec8c");
  CHECK(hash_text("foobar") == "85944171f73967e8");
}

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>
#include <functional>

#include "base/config.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

namespace {

enum class Color { Red, Green };
constexpr std::array<Named<Color>, 2> kColors{{{"red", Color::Red}, {"green", Color::Green}}};
const std::span<const Named<Color>> kColorSpan(kColors);

/// The message of reading `a` of a one-line document below the path `p`.
std::string reading(const std::string& text, const std::function<void(Fields&)>& read) {
  const Document d = parse_yaml(text, "x.yaml");
  return message_of([&] {
    Fields fields(d, d.root, "p");
    read(fields);
    fields.done();
  });
}

}  // namespace

TEST_CASE("a map gives its values as what the reader asks for", "[base]") {
  const Document d = parse_yaml(
      "text: two words\ncount: 12\nratio: 0.5\non: true\noff: false\ntime: 5 us\nsize: \"80 GiB\"\n"
      "rate: 400 Gb/s\ncompute: 989 TFLOP/s\npower: 700 W\ncolor: green\nmap: {a: 1}\n"
      "list: [1, 2]\nnames: [a, b]\nname: c\nnothing: ~\n",
      "x.yaml");
  Fields f(d, d.root);
  CHECK(f.text("text") == "two words");
  CHECK(f.integer("count", 0, 20) == 12);
  CHECK(f.number("ratio", 0, 1) == 0.5);
  CHECK(f.flag("on"));
  CHECK_FALSE(f.flag("off"));
  CHECK(f.seconds("time").value == 5e-6);
  CHECK(f.bytes("size").value == 80 * 0x1p30);
  CHECK(f.rate("rate").value == 50e9);
  CHECK(f.flops_rate("compute").value == 989e12);
  CHECK(f.watts("power").value == 700);
  CHECK(f.choice("color", kColorSpan) == Color::Green);
  CHECK(f.map("map").integer("a", 0, 9) == 1);
  CHECK(f.list("list").size() == 2);
  CHECK(f.text_list("names") == std::vector<std::string>{"a", "b"});
  CHECK(f.text_list("name") == std::vector<std::string>{"c"});
  CHECK_FALSE(f.has("nothing"));
  CHECK(f.find("nothing") == nullptr);
  CHECK_NOTHROW(f.done());
}

TEST_CASE("absent and null keys take the fallback", "[base]") {
  const Document d = parse_yaml("a: ~\n", "x.yaml");
  for (const char* key : {"a", "b"}) {
    Fields f(d, d.root);
    CHECK(f.text(key, "t") == "t");
    CHECK(f.integer(key, 0, 9, 100) == 100);
    CHECK(f.number(key, 0, 1, 7) == 7);
    CHECK(f.flag(key, true));
    CHECK(f.seconds(key, Seconds(1)).value == 1);
    CHECK(f.bytes(key, Bytes(2)).value == 2);
    CHECK(f.rate(key, BytesPerSecond(3)).value == 3);
    CHECK(f.flops_rate(key, FlopsPerSecond(4)).value == 4);
    CHECK(f.watts(key, Watts(5)).value == 5);
    CHECK(f.choice(key, kColorSpan, Color::Green) == Color::Green);
    CHECK(f.text_list(key).empty());
  }
}

TEST_CASE("a value of the wrong kind is refused with place, path and hint", "[base]") {
  struct Row {
    std::string text;
    std::function<void(Fields&)> read;
    std::string message;
  };
  const std::vector<Row> rows{
      {"a: x", [](Fields& f) { f.integer("a", 1, 8); },
       "x.yaml:1:4: p.a: 'x' is not a whole number; write decimal digits, without separators"},
      {"a: 9", [](Fields& f) { f.integer("a", 1, 8); },
       "x.yaml:1:4: p.a: '9' is out of range; it must be between 1 and 8"},
      {"a: '4'", [](Fields& f) { f.integer("a", 1, 8); },
       "x.yaml:1:4: p.a: expected a whole number, found the text '4'; write it without quotes"},
      {"a: [4]", [](Fields& f) { f.integer("a", 1, 8); },
       "x.yaml:1:4: p.a: expected a whole number, found a list"},
      {"a: {b: 1}", [](Fields& f) { f.text("a"); },
       "x.yaml:1:4: p.a: expected a text, found a map"},
      {"a: '0.5'", [](Fields& f) { f.number("a", 0, 1); },
       "x.yaml:1:4: p.a: expected a number, found the text '0.5'; write it without quotes"},
      {"a: yes", [](Fields& f) { f.flag("a"); },
       "x.yaml:1:4: p.a: expected true or false, found 'yes'; write true"},
      {"a: Off", [](Fields& f) { f.flag("a"); },
       "x.yaml:1:4: p.a: expected true or false, found 'Off'; write false"},
      {"a: True", [](Fields& f) { f.flag("a"); },
       "x.yaml:1:4: p.a: expected true or false, found 'True'; write true"},
      {"a: 'true'", [](Fields& f) { f.flag("a"); },
       "x.yaml:1:4: p.a: expected true or false, found the text 'true'; write it without quotes"},
      {"a: maybe", [](Fields& f) { f.flag("a"); },
       "x.yaml:1:4: p.a: expected true or false, found 'maybe'"},
      {"a: 400", [](Fields& f) { f.rate("a"); },
       "x.yaml:1:4: p.a: the number '400' needs a unit; write 400 Gb/s (units of a rate: B/s, "
       "kB/s, "
       "MB/s, GB/s, TB/s, GiB/s, Mb/s, Gb/s, Tb/s)"},
      {"a: {b: 1}", [](Fields& f) { f.rate("a"); },
       "x.yaml:1:4: p.a: expected a rate, found a map"},
      {"a: gren", [](Fields& f) { f.choice("a", kColorSpan); },
       "x.yaml:1:4: p.a: unknown value 'gren'; did you mean 'green'? (one of red, green)"},
      {"a: blueish", [](Fields& f) { f.choice("a", kColorSpan); },
       "x.yaml:1:4: p.a: unknown value 'blueish'; one of red, green"},
      {"a: 1", [](Fields& f) { f.map("a"); },
       "x.yaml:1:4: p.a: expected a map of keys and values, found '1'"},
      {"a: b:1", [](Fields& f) { f.map("a"); },
       "x.yaml:1:4: p.a: expected a map of keys and values, found 'b:1'; write a space after the "
       "':'"},
      {"a: 1", [](Fields& f) { f.list("a"); }, "x.yaml:1:4: p.a: expected a list, found '1'"},
      {"a: [b, [c]]", [](Fields& f) { f.text_list("a"); },
       "x.yaml:1:8: p.a: expected a list of texts, found a list in it"},
      {"a: {}", [](Fields& f) { f.text_list("a"); },
       "x.yaml:1:4: p.a: expected a list, found a map"},
      {"b: 1", [](Fields& f) { f.text("aaa"); }, "x.yaml:1:1: p.aaa: is missing"},
      {"aab: 1", [](Fields& f) { f.text("aaa"); },
       "x.yaml:1:1: p.aaa: is missing; is 'aab' meant to be it?"},
      {"a:", [](Fields& f) { f.text("a"); }, "x.yaml:1:1: p.a: has no value"},
      {"a: ~", [](Fields& f) { f.map("a"); }, "x.yaml:1:1: p.a: has no value"},
      {"a: 1", [](Fields& f) { f.fail("a", "problem", "hint"); }, "x.yaml:1:4: p.a: problem; hint"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(reading(row.text, row.read) == row.message);
  }
}

TEST_CASE("a key that nobody asks for is refused with the nearest known one", "[base]") {
  const auto read = [](Fields& f) {
    f.integer("sequence", 0, 9, 0);
    f.has("global");
  };
  CHECK(reading("global: 1\nseqence: 2", read) ==
        "x.yaml:2:1: p.seqence: unknown key; did you mean 'sequence'? (known keys: sequence, "
        "global)");
  CHECK(reading("seq: 2", read) ==
        "x.yaml:1:1: p.seq: unknown key; did you mean 'sequence'? (known keys: sequence, global)");
  CHECK(reading("zzzz: 2", read) ==
        "x.yaml:1:1: p.zzzz: unknown key; known keys: sequence, global");
  CHECK(reading("zzzz: ~", read) ==
        "x.yaml:1:1: p.zzzz: unknown key; known keys: sequence, global");
  CHECK(reading("zzzz: 2", [](Fields& f) { f.ignore_rest(); }).empty());
}

TEST_CASE("messages show input escaped and cut", "[base]") {
  const std::string message = reading("a: \"x\\ny\\u001b" + std::string(500, 'z') + "\"",
                                      [](Fields& f) { f.choice("a", kColorSpan); });
  CHECK_THAT(message, Catch::Contains("'x\\ny\\x1bzzz") && Catch::Contains("zzz...'"));
  CHECK(message.size() < 200);
}

TEST_CASE("views of list items carry their path", "[base]") {
  const Document d = parse_yaml("a:\n- {b: 1}\n- {b: x}\n", "x.yaml");
  Fields f(d, d.root);
  const auto& items = f.list("a");
  CHECK(f.view(items[0], "a[0]").integer("b", 0, 9) == 1);
  CHECK(message_of([&] { f.view(items[1], "a[1]").integer("b", 0, 9); }) ==
        "x.yaml:3:7: a[1].b: 'x' is not a whole number; write decimal digits, without separators");
  CHECK(f.where(items[1], "a") == "x.yaml:3:3: a");
}

TEST_CASE("an empty or shapeless document is no map", "[base]") {
  const auto open = [](const char* text) {
    const Document d = parse_yaml(text, "x.yaml");
    return message_of([&] { Fields(d, d.root); });
  };
  CHECK(open("") == "x.yaml:1:1: the file is empty");
  CHECK(open("# only a comment\n") == "x.yaml:1:1: the file is empty");
  CHECK(open("- a") == "x.yaml:1:1: expected a map of keys and values, found a list");
  CHECK(
      open("name:x") ==
      "x.yaml:1:1: expected a map of keys and values, found 'name:x'; write a space after the ':'");
}

TEST_CASE("the nearest name is a likely misspelling, or none", "[base]") {
  const std::vector<std::string> names{"tp", "pp", "sequence", "interleaved-1f1b", "1f1b", "gpipe"};
  CHECK(nearest("sequnce", names) == "sequence");
  CHECK(nearest("SEQUENCE", names) == "sequence");
  CHECK(nearest("esquence", names) == "sequence");
  CHECK(nearest("interleaved", names) == "interleaved-1f1b");
  CHECK(nearest("1f1", names) == "1f1b");
  CHECK(nearest("tpp", names) == "tp");
  CHECK(nearest("xyz", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("x", names).empty());
  CHECK(nearest(std::string(100'000, 'x'), names).empty());
}

// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "base/config.hpp"
#include "base/rng.hpp"

using namespace paceline::base;

namespace {

std::string sample(int indent) {
  JsonWriter json(indent);
  json.begin_object().field("name", "x").field("n", 3).field("ok", true);
  json.key("list").begin_array().value(1.5).null().begin_object().end_object().end_array();
  json.key("row").begin_array(true).value(1).value(2);
  json.begin_object().field("a", 1).field("b", 2).end_object().end_array();
  json.key("empty").begin_array().end_array();
  return json.end_object().finish();
}

}  // namespace

TEST_CASE("JSON is written indented or on one line", "[base]") {
  CHECK(sample(2) ==
        "{\n  \"name\": \"x\",\n  \"n\": 3,\n  \"ok\": true,\n  \"list\": [\n    1.5,\n    null,\n"
        "    {}\n  ],\n  \"row\": [1, 2, {\"a\": 1, \"b\": 2}],\n  \"empty\": []\n}\n");
  CHECK(
      sample(0) ==
      "{\"name\":\"x\",\"n\":3,\"ok\":true,\"list\":[1.5,null,{}],\"row\":[1,2,{\"a\":1,\"b\":2}],"
      "\"empty\":[]}\n");
}

TEST_CASE("a JSON document may be a single value", "[base]") {
  CHECK(JsonWriter().value(0.1).finish() == "0.1\n");
  CHECK(JsonWriter().value(std::numeric_limits<std::uint64_t>::max()).finish() ==
        "18446744073709551615\n");
  CHECK(JsonWriter().value(std::numeric_limits<std::int64_t>::min()).finish() ==
        "-9223372036854775808\n");
}

TEST_CASE("doubles are written in the shortest form that reads back", "[base]") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1e-5) == "1e-05");
  CHECK(shortest(5) == "5");
  CHECK(shortest(1e300) == "1e+300");
  CHECK(shortest(1.0 / 3) == "0.3333333333333333");
}

TEST_CASE("any text written as JSON reads back, ill-formed bytes replaced", "[base]") {
  const auto back = [](std::string_view text) {
    const std::string json = JsonWriter(0).begin_array().value(text).end_array().finish();
    return parse_json(json, "x").root.items.at(0).text;
  };
  CHECK(back("a\"b\\c\n\t\r\x01/\x7F") == "a\"b\\c\n\t\r\x01/\x7F");
  CHECK(back("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
  CHECK(back("a\xFF"
             "b") ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(back("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

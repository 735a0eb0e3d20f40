// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/csv.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"

using paceline::models::parse_csv;
using paceline::models::Table;

using Catch::StartsWith;

namespace {

std::string message(const std::string& text) {
  try {
    parse_csv(text, "t.csv");
  } catch (const paceline::base::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a table reads the same with either line end, a byte-order mark and comments",
          "[models]") {
  const std::vector<std::string> forms{"a,b\n1,x y\n", "a,b\r\n1,x y\r\n",
                                       "\xef\xbb\xbf"
                                       "a,b\n1,x y",
                                       "# from a paper\na , b\n\n 1 ,x y \n"};
  for (const std::string& text : forms) {
    const Table table = parse_csv(text, "t.csv");
    REQUIRE(table.header.size() == 2);
    CHECK(table.find("b") == 1);
    CHECK(table.find("c") == -1);
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0][0].text == "1");
    CHECK(table.rows[0][1].text == "x y");
  }
}

TEST_CASE("quoted cells keep commas, quotes and line breaks", "[models]") {
  const Table table = parse_csv("a,b\n\"1,5\",\"say \"\"no\"\"\nplease\"\n2,\n", "t.csv");
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0][0].text == "1,5");
  CHECK(table.rows[0][1].text == "say \"no\"\nplease");
  CHECK(table.rows[1][1].text.empty());
  CHECK(table.where(table.rows[1][0]) == "t.csv:4:1");
  CHECK(table.where(table.rows[1][1]) == "t.csv:4:3");
}

TEST_CASE("broken tables say where and how", "[models]") {
  CHECK_THAT(message("a,b\n1\n"), StartsWith("t.csv:2:1: row of 1 cells below a header of 2;"));
  CHECK_THAT(message("a,b\n1,2,3\n"), StartsWith("t.csv:2:1: row of 3 cells"));
  CHECK_THAT(message("a,b\n1,\"open\n"), StartsWith("t.csv:2:3: quote is never closed"));
  CHECK_THAT(message("a,b\n\"1\"2,3\n"), StartsWith("t.csv:2:4: text after a closing quote"));
  CHECK_THAT(message("a,a\n1,2\n"), StartsWith("t.csv:1:3: column 'a' is there twice"));
  CHECK_THAT(message("a,\n1,2\n"), StartsWith("t.csv:1:3: a column has no name"));
  CHECK_THAT(message(""), StartsWith("t.csv:1:1: table has no header"));
  CHECK_THAT(message(std::string("a,b\n1,\0\n", 8)), StartsWith("t.csv:2:3: control character"));
}

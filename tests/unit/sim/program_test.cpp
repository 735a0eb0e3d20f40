// SPDX-License-Identifier: Apache-2.0
#include "sim/program.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

const char* const kText =
    "program stages=2 microbatches=3 slices=2\n"
    "pass F down\n"
    "pass B up reads F\n"
    "pass W local reads F,B frees F,B\n"
    "rank 0: 0F0 0F0.1 (0F1&0B0) 0W0\n"
    "rank 1: (1F0&1B0&1W0)\n"
    "rank 2:\n";

std::string parse_error(std::string_view text) {
  return ::tests::message_of([&] { parse_program(text, "p.txt"); });
}

const std::string kHead = "program stages=2 microbatches=3 slices=1\npass F down\n";

}  // namespace

TEST_CASE("an action prints as stage, pass, microbatch and slice", "[sim]") {
  Program program;
  program.passes = {{"F", Direction::Down, {}, {}}, {"BW", Direction::Up, {0}, {0}}};
  CHECK(to_text(Action{0, false, 2, 0, 0}, program) == "2F0");
  CHECK(to_text(Action{1, false, 12, 3, 40}, program) == "12BW40.3");
}

TEST_CASE("a program reads back as it was written", "[sim]") {
  const Program program = parse_program(kText, "p.txt");
  REQUIRE(program.passes.size() == 3);
  CHECK(program.passes[2].reads == std::vector<Read>{0, 1});
  REQUIRE(program.order.size() == 3);
  CHECK(program.order[0][1] == Action{0, false, 0, 1, 0});
  CHECK(program.order[0][2] == Action{0, true, 0, 0, 1});
  CHECK(program.order[0][3] == Action{1, false, 0, 0, 0});
  CHECK(program.order[1][1].fused);
  CHECK_FALSE(program.order[1][2].fused);
  CHECK(to_text(program) == kText);
  CHECK(parse_program(to_text(program), "again") == program);
}

TEST_CASE("comments, blank lines and odd spacing do not matter", "[sim]") {
  const Program loose = parse_program(
      "# a schedule\n\n  program  stages=1 microbatches=1  slices=1 # sizes\r\n"
      "pass F down\n\trank 0:0F0  # end",
      "p.txt");
  CHECK(loose.order.at(0).size() == 1);
}

TEST_CASE("a malformed program names the place and what would be right", "[sim]") {
  using Catch::Matchers::Contains;
  using Catch::Matchers::StartsWith;
  CHECK_THAT(parse_error(""), StartsWith("p.txt:1:1: the text is empty"));
  CHECK_THAT(parse_error("pass F down"), StartsWith("p.txt:1:1: the text does not begin with"));
  CHECK_THAT(parse_error("program stages=2 microbatches=x"),
             StartsWith("p.txt:1:31: expected a microbatches number"));
  CHECK_THAT(parse_error("program stages=0 microbatches=1 slices=1"),
             StartsWith("p.txt:1:16: stages '0' is out of range"));
  CHECK_THAT(parse_error("program stages=2 slices=1"),
             StartsWith("p.txt:1:18: expected microbatches="));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F0 2F0"),
             StartsWith("p.txt:3:13: stage '2' is out of range"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F3"), Contains("it lies between 0 and 2"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F99999999999999999999"), Contains("out of range"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F0.1"), StartsWith("p.txt:3:13: slice '1'"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0G0"),
             StartsWith("p.txt:3:10: unknown pass 'G'; valid: F"));
  CHECK_THAT(parse_error(kHead + "rank 0: 00"),
             StartsWith("p.txt:3:11: expected the name of a pass"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F01F0"), StartsWith("p.txt:3:13: expected a blank"));
  CHECK_THAT(parse_error(kHead + "rank 0: (0F0 1F0)"),
             StartsWith("p.txt:3:13: expected '&' or ')'"));
  CHECK_THAT(parse_error(kHead + "rank 0: (0F0)"), StartsWith("p.txt:3:13: a fused group of one"));
  CHECK_THAT(parse_error(kHead + "rank 1: 0F0"),
             StartsWith("p.txt:3:6: rank 1 is out of order; expected rank 0"));
  CHECK_THAT(parse_error(kHead + "rank 0 0F0"), StartsWith("p.txt:3:7: expected ':'"));
  CHECK_THAT(parse_error(kHead + "rank 0: 0F0\npass B up"),
             StartsWith("p.txt:4:1: unexpected 'pass'"));
  CHECK_THAT(parse_error(kHead + "pass F up"), StartsWith("p.txt:3:6: pass F is listed twice"));
  CHECK_THAT(parse_error(kHead + "pass B2 up"),
             StartsWith("p.txt:3:6: the name of a pass is made of letters"));
  CHECK_THAT(parse_error(kHead + "pass B sideways"),
             StartsWith("p.txt:3:8: unknown direction 'sideways'; valid: down"));
  CHECK_THAT(parse_error(kHead + "pass B up reads F,G\n"),
             StartsWith("p.txt:3:19: unknown pass 'G'"));
  CHECK_THAT(parse_error(kHead + "pass B up writes F\n"),
             StartsWith("p.txt:3:11: unexpected 'writes'"));
}

TEST_CASE("a pass may read one that is declared later", "[sim]") {
  const Program program = parse_program(
      "program stages=1 microbatches=1 slices=1\npass B up reads F\npass F down\nrank 0: 0F0 0B0",
      "");
  CHECK(program.passes[0].reads == std::vector<Read>{1});
}
